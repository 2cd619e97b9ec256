package check

import (
	"strconv"
	"strings"
	"testing"
)

// Each row has a schedule and what is said about it, one fault a line.
func TestWrongSchedules(t *testing.T) {
	const five = ", and must have 5, which are minute, hour, day of month, month and day of week"
	const macros = "must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every with a time"
	for _, tt := range []struct{ schedule, want string }{
		{"0 25 * * *", "hour 25: must be 0 to 23"},
		{"60 24 0 13 7", "minute 60: must be 0 to 59\n" +
			"hour 24: must be 0 to 23\n" +
			"day of month 0: must be 1 to 31\n" +
			"month 13: must be 1 to 12, or JAN to DEC\n" +
			"day of week 7: must be 0 to 6, or SUN to SAT; Sunday is 0"},
		{"1,61,62 * * * *", "minute 61: must be 0 to 59\nminute 62: must be 0 to 59"},
		{"99999999999999999999 * * * *", "minute 99999999999999999999: must be 0 to 59"},
		{"0 -5 * * *", "hour -5: must be 0 to 23"},
		{"0 0-24 * * *", "hour 0-24: must be 0 to 23"},
		{"70/2 * * * *", "minute 70/2: must be 0 to 59"},

		{"0 22-2 * * *", "hour 22-2: ends before it begins: write 22-23,0-2"},
		{"0 23-0 * * *", "hour 23-0: ends before it begins: write 23,0"},
		{"0 22-2/2 * * *", "hour 22-2/2: ends before it begins"},
		{"0 0 * * fri-MON", "day of week fri-MON: ends before it begins: write fri-SAT,SUN-MON"},
		{"0 0 * * 5-MON", "day of week 5-MON: ends before it begins: write 5-6,0-MON"},
		{"0 0 * NOV-FEB *", "month NOV-FEB: ends before it begins: write NOV-DEC,JAN-FEB"},
		{"0 1- * * *", "hour 1-: must have a number at both ends of the range"},
		{"0 - * * *", "hour -: must have a number at both ends of the range"},
		{"0 1-2-3 * * *", "hour 1-2-3: has more than one -"},
		{"0 --3 * * *", "hour --3: has more than one -"},

		{"*/0 * * * *", "minute */0: the step after / must be a number from 1"},
		{"*/ * * * *", "minute */: the step after / must be a number from 1"},
		{"*/x * * * *", "minute */x: the step after / must be a number from 1"},
		{"/5 * * * *", "minute /5: must have a * or a range before the /"},
		{"*/5/2 * * * *", "minute */5/2: has more than one /"},

		{"0 0 * * Monday", "day of week Monday: did you mean MON?"},
		{"0 0 * * MNO-FRI", "day of week MNO-FRI: MNO: did you mean MON?"},
		{"0 0 * Sept *", "month Sept: did you mean SEP?"},
		{"0 noon * * *", "hour noon: must be 0 to 23"},
		{"0 0 L * *", "day of month L: must be 1 to 31; Kubernetes has no L, W, H and #"},
		{"H 0 15W * FRI#2", "minute H: must be 0 to 59; Kubernetes has no L, W, H and #\n" +
			"day of month 15W: must be 1 to 31; Kubernetes has no L, W, H and #\n" +
			"day of week FRI#2: must be 0 to 6, or SUN to SAT; Sunday is 0; Kubernetes has no L, W, H and #"},
		{"0 \x01 * * *", `hour "\x01": must be 0 to 23`},

		{"every day", `"every day" has 2 fields` + five},
		{" ", `" " has 0 fields` + five},
		{"*", `"*" has 1 field` + five},
		{"0 0 3 * * *", `"0 0 3 * * *" has 6 fields` + five + ": there is none for seconds or years"},

		{"@dayly", `no macro "@dayly": did you mean @daily?`},
		{"@Daily", `no macro "@Daily": did you mean @daily?`},
		{"@daily ", `no macro "@daily ": did you mean @daily?`},
		{"@noon", `no macro "@noon": ` + macros},
		{"@reboot", "@reboot does not exist in Kubernetes"},
		{"@every", "@every needs a time, such as @every 90s or @every 1h30m"},
		{"@every 5", `"@every 5": @every needs a time with units, such as @every 90s or @every 1h30m`},
		{"@every 1d", `"@every 1d": the largest unit of @every is the hour, as in @every 24h`},

		{"TZ=Europe/Berlin 0 3 * * *", `must not name a time zone, as "TZ=Europe/Berlin" does: use spec.timeZone`},
		{"CRON_TZ=UTC 0 25 * * *", `must not name a time zone, as "CRON_TZ=UTC" does: use spec.timeZone` + "\nhour 25: must be 0 to 23"},
		{"TZ=0", `must not name a time zone, as "TZ=0" does: use spec.timeZone`},
		{"TZ= @daily", `must not name a time zone, as "TZ=" does: use spec.timeZone`},
		{"0 3 * * UTZ", `is "0 3 * * UTZ", must not have TZ: use spec.timeZone` + "\nday of week UTZ: must be 0 to 6, or SUN to SAT; Sunday is 0"},
	} {
		file := Parse("", []byte(strings.Replace(with(cronJob, "", ""), "'* * * * *'", quoted(tt.schedule), 1)))
		var got []string
		for _, f := range file.Objects[0].Judge(Options{}).Findings {
			if f.Severity != Error || f.Field != "spec.schedule" || f.Line != 5 {
				t.Errorf("%q: %s %s", tt.schedule, f.Severity, f)
			}
			got = append(got, f.Text)
		}
		if text := strings.Join(got, "\n"); text != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.schedule, text, tt.want)
		}
	}
}

// quoted returns a text as a string of YAML and JSON.
func quoted(text string) string {
	return `"` + strings.ReplaceAll(text, "\x01", `\x01`) + `"`
}

// A range that is suggested is one that the parser takes.
func TestWrappedRangesAreValid(t *testing.T) {
	for i, f := range scheduleFields {
		for from := f.min; from <= f.max; from++ {
			for to := f.min; to < from; to++ {
				first, last := f.text(from), f.text(to)
				if wrapped := f.wrapped(from, to, first, last); !f.takes(i, wrapped) || f.takes(i, first+"-"+last) {
					t.Errorf("%s %s-%s: %s", f.name, first, last, wrapped)
				}
			}
		}
	}
}

// text returns the name of a number, if there is one.
func (f *scheduleField) text(n int) string {
	if f.names != nil {
		return f.names[n-f.min]
	}
	return strconv.Itoa(n)
}

// What Kubernetes decides is what the parser decides: a fault is found for every text
// that the parser refuses, and nothing is said about others.
func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{"* * * * *", "0 22-2 * * FRI", "@every 1h", "TZ=UTC 0 0 * * *", "1,2-3/4 ? * JAN L"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := parseSchedule(text)
		if text == "" || err == nil {
			return
		}
		faults := scheduleFaults(text, err)
		if len(faults) == 0 {
			t.Errorf("%q: %v, and no fault is found", text, err)
		}
		for _, fault := range faults {
			if strings.Contains(fault, "is no schedule") {
				t.Errorf("%q: the fault is not found: %v", text, err)
			}
		}
	})
}
