package jobcontroller

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
)

// Annotations of a Job that override settings of the Engine. An invalid value, and a name
// with AnnotationPrefix that does not exist, are reported by an Event InvalidAnnotation and
// in the log, and ignored.
const (
	AnnotationBaseDelay    = "restartkit.dev/backoff-base"  // first delay after a failure, such as 1m30s, from MinDelay to MaxDelayLimit
	AnnotationMaxDelay     = "restartkit.dev/backoff-max"   // longest delay, between the first and MaxDelayLimit
	AnnotationSkipWaiting  = "restartkit.dev/skip-waiting"  // start ready indexes while others wait: true or false
	AnnotationIgnoredDelay = "restartkit.dev/ignored-delay" // IgnoredDelay: Same (DelayLikeFailure), Own (DelaySeparately) or None (NoDelay)
)

// AnnotationPrefix begins the names of all annotations of this package.
const AnnotationPrefix = "restartkit.dev/"

// MinDelay and MaxDelayLimit are the shortest and the longest delay that an annotation may
// set. Statuses have times in whole seconds, and a shorter delay would let one Job use up
// the requests of all others.
const (
	MinDelay      = time.Second
	MaxDelayLimit = 7 * 24 * time.Hour
)

// WithAnnotations returns the Engine with a Job's annotations applied. It leaves
// invalid values out and returns them as field.Errors.
func WithAnnotations(e jobpolicy.Engine, annotations map[string]string) (jobpolicy.Engine, field.Errors) {
	var errs field.Errors
	wrong := func(name, detail string) {
		errs.Add(field.Invalid, "metadata.annotations["+name+"]", annotations[name], detail)
	}
	delay := func(name string) (d time.Duration, ok bool) {
		text, there := annotations[name]
		if !there {
			return 0, false
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < MinDelay || d > MaxDelayLimit {
			wrong(name, "must be a duration from "+MinDelay.String()+" to "+MaxDelayLimit.String()+", such as 30s or 1m30s")
			return 0, false
		}
		return d, true
	}
	set := e
	base, hasBase := delay(AnnotationBaseDelay)
	longest, hasMax := delay(AnnotationMaxDelay)
	if hasBase {
		set.BaseDelay = base
	}
	if hasMax {
		set.MaxDelay = longest
	}
	if (hasBase || hasMax) && baseDelay(set) > maxDelay(set) {
		if hasBase {
			wrong(AnnotationBaseDelay, "must not be longer than the longest delay, "+maxDelay(set).String())
		}
		if hasMax {
			wrong(AnnotationMaxDelay, "must not be shorter than the first delay, "+baseDelay(set).String())
		}
		set.BaseDelay, set.MaxDelay = e.BaseDelay, e.MaxDelay
	}
	if text, there := annotations[AnnotationSkipWaiting]; there {
		if skip, err := strconv.ParseBool(text); err == nil {
			set.StartReadyIndexes = skip
		} else {
			wrong(AnnotationSkipWaiting, "must be true or false")
		}
	}
	if text, there := annotations[AnnotationIgnoredDelay]; there {
		if d, ok := ignoredDelays[text]; ok {
			set.IgnoredDelay = d
		} else {
			wrong(AnnotationIgnoredDelay, "must be Same, Own or None")
		}
	}
	return set, append(errs, unknownAnnotations(annotations)...)
}

// unknownAnnotations returns an error for each name that has our prefix and does not
// exist.
func unknownAnnotations(annotations map[string]string) (errs field.Errors) {
	known := []string{AnnotationBaseDelay, AnnotationMaxDelay, AnnotationSkipWaiting, AnnotationIgnoredDelay, AnnotationMemory}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(name, AnnotationPrefix) && !slices.Contains(known, name) {
			errs.Add(field.Unknown, "metadata.annotations["+name+"]", nil, "must be one of "+strings.Join(known[:len(known)-1], ", "))
		}
	}
	return errs
}

// ignoredDelays maps values of AnnotationIgnoredDelay.
var ignoredDelays = map[string]jobpolicy.IgnoredDelay{
	"Same": jobpolicy.DelayLikeFailure, "Own": jobpolicy.DelaySeparately, "None": jobpolicy.NoDelay,
}

// baseDelay and maxDelay return the Engine's delays with its defaults for 0.
func baseDelay(e jobpolicy.Engine) time.Duration {
	if e.BaseDelay == 0 {
		return 10 * time.Second
	}
	return e.BaseDelay
}

func maxDelay(e jobpolicy.Engine) time.Duration {
	if e.MaxDelay == 0 {
		return 10 * time.Minute
	}
	return e.MaxDelay
}
