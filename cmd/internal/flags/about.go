package flags

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

// about holds the flags common to all programs. Each of them ends the program.
type about struct {
	version    bool
	completion shell
}

// shell is a shell for which a program can print completions.
type shell string

func (s *shell) String() string { return string(*s) }

func (s *shell) Set(text string) error {
	switch text {
	case "bash", "zsh", "fish":
		*s = shell(text)
		return nil
	}
	return fmt.Errorf("must be bash, zsh or fish")
}

// define adds the flags to a Set, after its own.
func (a *about) define(s *Set) {
	s.BoolVar(&a.version, "version", false, "print the version and exit")
	s.Var(&a.completion, "completion", "print completions for a `shell`: bash, zsh or fish. For bash:\nsource <("+s.Name()+" -completion bash)")
	s.Group("About")
}

// print prints the requested text. asked reports whether any was requested.
func (a *about) print(s *Set, out io.Writer) (asked bool, err error) {
	switch {
	case a.version:
		_, err = io.WriteString(out, s.Name()+" "+version()+"\n")
	case a.completion != "":
		_, err = io.WriteString(out, s.completions(a.completion))
	default:
		return false, nil
	}
	return true, err
}

// version returns the version recorded by the go command, the Go version and the
// platform.
func version() string {
	text := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		text = info.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// completions returns a script that completes flags, subcommands if the program has
// any, and otherwise file names.
func (s *Set) completions(to shell) string {
	program := s.Name()
	var names []string
	s.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
	flags, words := strings.Join(names, " "), strings.Join(s.Subcommands, " ")
	if to == "fish" {
		var b strings.Builder
		for _, word := range s.Subcommands {
			fmt.Fprintf(&b, "complete -c %s -n __fish_is_first_arg -a %s\n", program, word)
		}
		s.VisitAll(func(f *flag.Flag) {
			_, usage := flag.UnquoteUsage(f)
			first, _, _ := strings.Cut(usage, "\n")
			fmt.Fprintf(&b, "complete -c %s -o %s -d '%s'\n", program, f.Name, strings.ReplaceAll(first, "'", `\'`))
		})
		return b.String()
	}
	script := fmt.Sprintf(`_%[1]s() {
	local word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	case $word in
	-*) COMPREPLY=($(compgen -W '%[2]s' -- "$word")) ;;
	*) [ "$COMP_CWORD" = 1 ] && COMPREPLY=($(compgen -W '%[3]s' -- "$word")) ;;
	esac
}
complete -o default -F _%[1]s %[1]s
`, program, flags, words)
	if to == "zsh" {
		return "autoload -U +X bashcompinit && bashcompinit\n" + script
	}
	return script
}
