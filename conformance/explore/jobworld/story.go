package jobworld

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/internal/search"
)

// Story is a history of a Job, as text that can be replayed:
//
//	# a pod is created beyond parallelism
//	job completions=2 parallelism=2 fail=1 total=1
//	the controller creates pod 1
//	pod 1 fails with 1
//
// Lines that begin with # and blank lines are ignored.
type Story struct {
	Comment []string // lines at the top, without #
	Job     Job
	Steps   []string
}

// String returns the text of the story.
func (s Story) String() string {
	var b strings.Builder
	for _, line := range s.Comment {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	b.WriteString(strings.TrimRight("job "+s.Job.String(), " ") + "\n")
	for _, step := range s.Steps {
		b.WriteString(step + "\n")
	}
	return b.String()
}

// ParseStory reads the text of a story.
func ParseStory(text string) (Story, error) {
	var s Story
	begun := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.Join(strings.Fields(line), " ")
		switch {
		case strings.HasPrefix(line, "#"):
			if !begun {
				s.Comment = append(s.Comment, strings.TrimSpace(line[1:]))
			}
		case line == "":
		case !begun:
			fields, is := strings.CutPrefix(line+" ", "job ")
			if !is {
				return Story{}, fmt.Errorf("jobworld: ParseStory(): a story begins with its job, not with %q (line %d)", line, i+1)
			}
			var err error
			if s.Job, err = ParseJob(fields); err != nil {
				return Story{}, fmt.Errorf("%w (line %d)", err, i+1)
			}
			begun = true
		default:
			s.Steps = append(s.Steps, line)
		}
	}
	if !begun {
		return Story{}, fmt.Errorf("jobworld: ParseStory(): no job")
	}
	return s, nil
}

// Tell returns the story of a search's result that found a broken invariant.
func (w *World) Tell(r search.Result) Story {
	k := w.newWalker()
	s := w.start()
	story := Story{Comment: []string{fmt.Sprint(r.Broken)}, Job: w.job}
	next := func(ordinal int) {
		s.canonical()
		nameless := s.nameless()
		steps, pass, _ := k.steps(&nameless)
		story.Steps = append(story.Steps, s.text(steps[ordinal], &pass))
		_ = k.take(&s, steps[ordinal], &pass)
	}
	for _, ordinal := range r.Story {
		next(ordinal)
	}
	if r.Loop > 0 {
		story.Comment = append(story.Comment, fmt.Sprintf("the last %d steps are without faults and go on like that or nowhere", r.Loop-1))
	}
	for range r.Loop - 1 {
		next(0)
	}
	return story
}

// Replay takes the steps of the story. It returns the number of steps taken, and the
// invariant that the last one breaks, or an error about an impossible step.
func (w *World) Replay(story Story) (taken int, broken, err error) {
	k := w.newWalker()
	s := w.start()
	for i, text := range story.Steps {
		s.canonical()
		steps, pass, _ := k.steps(&s)
		j := slices.IndexFunc(steps, func(st step) bool { return s.text(st, &pass) == text })
		if j < 0 {
			var possible []string
			for _, st := range steps {
				possible = append(possible, s.text(st, &pass))
			}
			return i, nil, fmt.Errorf("jobworld: step %d, %q, is not possible; possible are:\n\t%s", i+1, text, strings.Join(possible, "\n\t"))
		}
		if broken = k.take(&s, steps[j], &pass); broken != nil {
			return i + 1, broken, nil
		}
	}
	if k.endless(s) {
		return len(story.Steps), search.ErrEndless, nil
	}
	return len(story.Steps), nil, nil
}

// endless reports whether the calm steps from s lead to no end.
func (w *walker) endless(s state) bool {
	const most = 10_000
	for range most {
		s.canonical()
		steps, pass, end := w.steps(&s)
		if end {
			return false
		}
		if _, calm := w.calm(&s, &pass); !calm {
			return true
		}
		if w.take(&s, steps[0], &pass) != nil {
			return true
		}
	}
	return true
}

// canonical puts the pods into the order of the encoding.
func (s *state) canonical() {
	if !s.passing {
		s.sort()
	}
}

// nameless returns s with pods without names, as after decode.
func (s *state) nameless() state {
	n := *s
	for i := range n.pods {
		n.pods[i].name = 0
	}
	return n
}
