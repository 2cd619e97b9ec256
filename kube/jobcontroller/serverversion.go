package jobcontroller

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// A Job's template can only have fields unknown to this client-go if the API server is
// newer. Then the informer's copy is not enough, and the template is read as stored,
// once per generation of each Job. Otherwise the copy is whole, and one request per
// serverVersionKept replaces all of those.

// serverVersionKept is how long an answer about the API server's version is used. A
// cluster is upgraded while controllers run, and fields of the new version are used
// after that.
const serverVersionKept = time.Minute

// serverVersion is the API server's version, as last asked for. The zero value has not
// asked. It is safe for concurrent use.
type serverVersion struct {
	mu    sync.Mutex
	minor int // 0 if it could not be read
	asked time.Time
}

// isNewer reports whether the API server may be newer than the given minor version of
// k8s.io/api. It is true if either version is unknown. While one goroutine asks, others
// use the last answer.
func (v *serverVersion) isNewer(ctx context.Context, client rest.Interface, known int, clock clock.PassiveClock) bool {
	if known == 0 {
		return true
	}
	if v.claim(clock.Now()) {
		minor := serverMinor(ctx, client)
		v.mu.Lock()
		v.minor = minor
		v.mu.Unlock()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.minor == 0 || v.minor > known
}

// claim reports whether the caller must ask, because nobody has for serverVersionKept.
func (v *serverVersion) claim(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if age := now.Sub(v.asked); !v.asked.IsZero() && age >= 0 && age < serverVersionKept {
		return false
	}
	v.asked = now
	return true
}

// serverMinor asks for the API server's minor version. It returns 0 without one.
func serverMinor(ctx context.Context, client rest.Interface) int {
	text, err := client.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return 0
	}
	var info version.Info
	if err := json.Unmarshal(text, &info); err != nil || info.Major != "1" {
		return 0
	}
	minor, err := strconv.Atoi(strings.TrimSuffix(info.Minor, "+")) // some providers append a plus sign
	if err != nil || minor < 0 {
		return 0
	}
	return minor
}

// apiMinor returns the minor version of k8s.io/api that the program is built with, as in
// v0.37.2, or 0 if its build information lacks it.
func apiMinor() int {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return 0
	}
	for _, m := range info.Deps {
		if m.Path != "k8s.io/api" {
			continue
		}
		for m.Replace != nil {
			m = m.Replace
		}
		var minor int
		if rest, ok := strings.CutPrefix(m.Version, "v0."); ok {
			text, _, _ := strings.Cut(rest, ".")
			minor, _ = strconv.Atoi(text) // 0 if it is none
		}
		return minor
	}
	return 0
}
