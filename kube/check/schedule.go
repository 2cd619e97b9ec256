package check

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/internal/spelling"
)

// zonePart is a part of a time zone's name, as the API server takes it.
var zonePart = regexp.MustCompile(`^[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}$`)

// zonePrefix is a time zone in front of a schedule, as robfig/cron takes it and
// Kubernetes does not.
var zonePrefix = regexp.MustCompile(`^(?:CRON_)?TZ=([^ ]*) *`)

// schedule checks when a CronJob starts its Jobs.
func (j *judge) schedule(spec *batchv1.CronJobSpec) {
	const path = "spec.schedule"
	if zone := spec.TimeZone; zone != nil {
		j.timeZone(*zone)
	}
	text := spec.Schedule
	if text == "" {
		j.add(field.Required, path, nil, `a CronJob needs one, such as "0 3 * * *"`)
		return
	}
	if zone := zonePrefix.FindStringSubmatch(text); zone != nil {
		text = strings.TrimPrefix(text, zone[0])
		j.add(field.Invalid, path, nil, fmt.Sprintf("must not name a time zone, as %s does: use spec.timeZone", quote.Text(strings.TrimSpace(zone[0]))))
		if text == "" {
			return
		}
	} else if strings.Contains(text, "TZ") {
		j.add(field.Invalid, path, text, "must not have TZ: use spec.timeZone")
	}
	schedule, err := parseSchedule(text)
	if err != nil {
		for _, fault := range scheduleFaults(text, err) {
			j.add(field.Invalid, path, nil, fault)
		}
		return
	}
	// The parser gives up after five years without a time.
	if schedule.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		j.say(Warning, KindSchedule, path, fmt.Sprintf("%q is no day of any year, so no Job ever starts", spec.Schedule))
	}
	// The controller looks 100 ms after the time of a start, and takes one whose deadline has
	// passed by then for missed (nextScheduleDelta and tooLate in pkg/controller/cronjob).
	if deadline := spec.StartingDeadlineSeconds; deadline != nil {
		const path = "spec.startingDeadlineSeconds"
		switch {
		case *deadline == 0:
			j.say(Warning, KindSchedule, path, "no Job ever starts, since the controller looks just after its time, which then is too late; use 10 or more")
		case *deadline > 0 && *deadline < 10:
			j.say(Warning, KindSchedule, path, "a controller that is busy or restarts for so short a time misses starts; use 10 or more")
		}
	}
}

// parseSchedule is cron.ParseStandard, which decides whether a schedule is valid in
// Kubernetes, too. It panics on some texts.
func parseSchedule(text string) (schedule cron.Schedule, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not a schedule")
		}
	}()
	return cron.ParseStandard(text)
}

func (j *judge) timeZone(zone string) {
	const path = "spec.timeZone"
	_, err := time.LoadLocation(zone)
	bad := slices.ContainsFunc(strings.Split(zone, "/"), func(part string) bool {
		return part == "." || part == ".." || !zonePart.MatchString(part)
	})
	switch {
	case zone == "":
		j.add(field.Invalid, path, zone, "must be the name of a time zone, or absent")
	case strings.EqualFold(zone, "Local"):
		j.add(field.Invalid, path, zone, "must be the name of a time zone, such as Europe/Berlin")
	case bad || err != nil:
		j.add(field.Invalid, path, zone, "no such time zone: must be a name such as Europe/Berlin or Etc/UTC")
	}
}

// scheduleField is one of the five fields of a schedule.
type scheduleField struct {
	name     string
	min, max int
	names    []string // of min, min+1, …; nil if there are none
}

var scheduleFields = []scheduleField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")},
	{"day of week", 0, 6, strings.Fields("SUN MON TUE WED THU FRI SAT")},
}

// otherCron matches the forms of other crons: L, 5L, LW, 15W, 5#3, H or H(0-29).
var otherCron = regexp.MustCompile(`(?i)^(?:[0-9]+|[a-z]{3})?(?:L|W|LW|H|#[0-9]*)(?:\(.*\))?$`)

// scheduleMacros are the schedules with a name.
var scheduleMacros = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// scheduleFaults explains why parseSchedule refuses a schedule with err.
func scheduleFaults(text string, err error) (faults []string) {
	if strings.HasPrefix(text, "@") {
		return []string{macroFault(text)}
	}
	fields := strings.Fields(text)
	if n := len(fields); n != len(scheduleFields) {
		hint := ""
		if n == len(scheduleFields)+1 || n == len(scheduleFields)+2 {
			hint = ": there is none for seconds or years"
		}
		return []string{fmt.Sprintf("%s has %s, and must have 5, which are minute, hour, day of month, month and day of week%s", quote.Text(text), count(n, "field"), hint)}
	}
	for i, f := range scheduleFields {
		for part := range strings.SplitSeq(fields[i], ",") {
			if f.takes(i, part) {
				continue
			}
			faults = append(faults, fmt.Sprintf("%s %s: %s", f.name, quote.Plain(part), f.fault(part)))
		}
	}
	if faults == nil { // not seen, since the parser reads the parts one by one
		faults = []string{fmt.Sprintf("%s is no schedule: %v", quote.Text(text), err)}
	}
	return faults
}

// macroFault explains why a schedule that begins with @ is refused.
func macroFault(text string) string {
	const example = "such as @every 90s or @every 1h30m"
	name, rest, _ := strings.Cut(text, " ")
	switch {
	case name == "@every" && strings.TrimSpace(rest) == "":
		return "@every needs a time, " + example
	case name == "@every" && strings.ContainsAny(rest, "dw"):
		return quote.Text(text) + ": the largest unit of @every is the hour, as in @every 24h"
	case name == "@every":
		return quote.Text(text) + ": @every needs a time with units, " + example
	case name == "@reboot":
		return "@reboot does not exist in Kubernetes"
	}
	if meant := spelling.Nearest(strings.TrimSpace(text), append([]string{"@every"}, scheduleMacros...)); meant != "" {
		return fmt.Sprintf("no macro %s: did you mean %s?", quote.Text(text), meant)
	}
	return fmt.Sprintf("no macro %s: must be one of %s, or @every with a time", quote.Text(text), strings.Join(scheduleMacros, ", "))
}

// takes reports whether the parser takes a text as the i-th field.
func (f *scheduleField) takes(i int, text string) bool {
	fields := []string{"*", "*", "*", "*", "*"}
	fields[i] = text
	_, err := parseSchedule(strings.Join(fields, " "))
	return text == "" || err == nil
}

// fault explains why the parser refuses a part of a field, such as 1-5/2.
func (f *scheduleField) fault(part string) string {
	whole, step, hasStep := strings.Cut(part, "/")
	first, last, isRange := strings.Cut(whole, "-")
	isStar := first == "*" || first == "?"
	switch {
	case strings.Contains(step, "/"):
		return "has more than one /"
	case whole == "" && hasStep:
		return "must have a * or a range before the /"
	case !isStar && first == "" && isRange && isNumber(last):
		return f.bounds()
	case !isStar && strings.Contains(last, "-"):
		return "has more than one -"
	}
	if !isStar {
		from, ok := f.value(first)
		if !ok {
			return f.unknown(first, part)
		}
		to := from
		if isRange {
			if to, ok = f.value(last); !ok {
				return f.unknown(last, part)
			}
		}
		switch {
		case from > to && !hasStep && from <= f.max && to >= f.min:
			return "ends before it begins: write " + f.wrapped(from, to, first, last)
		case from > to && from <= f.max && to >= f.min:
			return "ends before it begins"
		}
	}
	if hasStep && !isNumber(step) || strings.Trim(step, "0") == "" && hasStep {
		return "the step after / must be a number from 1"
	}
	return f.bounds()
}

// value returns the number of a name or number in the field. It saturates.
func (f *scheduleField) value(text string) (n int, ok bool) {
	if i := slices.IndexFunc(f.names, func(name string) bool { return strings.EqualFold(name, text) }); i >= 0 {
		return f.min + i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// unknown explains why a text is refused that is no number and no name of the field. It is the whole part or one end of a range.
func (f *scheduleField) unknown(text, part string) string {
	about := ""
	if text != part {
		about = quote.Plain(text) + ": "
	}
	if text == "" {
		return "must have a number at both ends of the range"
	}
	if otherCron.MatchString(text) {
		return about + f.bounds() + "; Kubernetes has no L, W, H and #"
	}
	for _, name := range f.names {
		// A full name, such as Monday, or one letter wrong.
		if len(text) > len(name) && strings.EqualFold(text[:len(name)], name) || spelling.Within(1, text, []string{name}) != "" {
			return about + "did you mean " + name + "?"
		}
	}
	return about + f.bounds()
}

// bounds says which values the field has.
func (f *scheduleField) bounds() string {
	text := fmt.Sprintf("must be %d to %d", f.min, f.max)
	if f.names == nil {
		return text
	}
	text += fmt.Sprintf(", or %s to %s", f.names[0], f.names[len(f.names)-1])
	if f.min == 0 { // other crons take 7 as Sunday
		text += "; Sunday is 0"
	}
	return text
}

// wrapped writes a range that ends before it begins as two, such as 22-23,0-2.
func (f *scheduleField) wrapped(from, to int, first, last string) string {
	lowest, highest := strconv.Itoa(f.min), strconv.Itoa(f.max)
	if f.names != nil && !isNumber(first) && !isNumber(last) {
		lowest, highest = f.names[0], f.names[len(f.names)-1]
	}
	before, after := first+"-"+highest, lowest+"-"+last
	if from == f.max {
		before = first
	}
	if to == f.min {
		after = last
	}
	return before + "," + after
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
