package backoff_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

const maxDuration = time.Duration(math.MaxInt64)

// durations draws positive durations of every magnitude, the largest included.
func durations() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		bits := rapid.IntRange(0, 63).Draw(t, "bits")
		if bits == 63 {
			return maxDuration - time.Duration(rapid.IntRange(0, 3).Draw(t, "below"))
		}
		low := int64(1) << bits
		return time.Duration(rapid.Int64Range(low, 2*low-1).Draw(t, "duration"))
	})
}

// counts draws counts of every magnitude, the largest included.
func counts() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, math.MaxInt), rapid.IntRange(math.MaxInt-3, math.MaxInt))
}

func factors() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.SampledFrom([]float64{0, 1, 1 + 0x1p-52, 1 + 1e-12, 1 + 1e-6, 1.1, 1.5, 2, 3, math.MaxFloat64}),
		rapid.Float64Range(1, 1.001), rapid.Float64Range(1, 4), rapid.Float64Range(1, math.MaxFloat64))
}

// policies draws valid policies.
func policies() *rapid.Generator[backoff.Policy] {
	return rapid.Custom(func(t *rapid.T) backoff.Policy {
		p := backoff.Policy{
			Initial:      durations().Draw(t, "initial"),
			Factor:       factors().Draw(t, "factor"),
			Jitter:       rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1)).Draw(t, "jitter"),
			FreeFailures: rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 3), counts()).Draw(t, "free"),
		}
		p.Max = max(p.Initial, durations().Draw(t, "max"))
		if rapid.Bool().Draw(t, "reset") {
			p.ResetAfter = durations().Draw(t, "resetAfter")
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		return p
	})
}

func TestDelaysOfPresetsAndFactors(t *testing.T) {
	s := time.Second
	for name, tt := range map[string]struct {
		policy backoff.Policy
		want   []time.Duration // after 0, 1, 2, … failures
	}{
		"CrashLoop":        {backoff.CrashLoop(), []time.Duration{0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s}},
		"ReducedCrashLoop": {backoff.ReducedCrashLoop(), []time.Duration{0, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}},
		"ImagePull":        {backoff.ImagePull(), []time.Duration{0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s}},
		"JobPod":           {backoff.JobPod(), []time.Duration{0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 600 * s, 600 * s}},
		"free":             {backoff.Policy{Initial: s, Max: 3 * s, FreeFailures: 2}, []time.Duration{0, 0, 0, s, 2 * s, 3 * s}},
		"flat":             {backoff.Policy{Initial: s, Max: 3 * s, Factor: 1}, []time.Duration{0, s, s, s}},
		"three":            {backoff.Policy{Initial: s, Max: 30 * s, Factor: 3}, []time.Duration{0, s, 3 * s, 9 * s, 27 * s, 30 * s}},
		"half":             {backoff.Policy{Initial: 100, Max: 400, Factor: 1.5}, []time.Duration{0, 100, 150, 225, 338, 400}},
		"cap":              {backoff.Policy{Initial: s, Max: s}, []time.Duration{0, s, s}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tt.policy.Validate(); err != nil {
				t.Fatal(err)
			}
			for failures, want := range tt.want {
				if got := tt.policy.Delay(failures); got != want {
					t.Errorf("Delay(%d) = %v, want %v", failures, got, want)
				}
			}
			if got, want := tt.policy.Delay(math.MaxInt), tt.want[len(tt.want)-1]; got != want {
				t.Errorf("Delay(MaxInt) = %v, want %v", got, want)
			}
			if got := tt.policy.Delay(-1); got != 0 {
				t.Errorf("Delay(-1) = %v, want 0", got)
			}
		})
	}
}

// A delay is 0 up to FreeFailures and then within [Initial, Max], never decreases, and
// equals the result of multiplying step by step.
func TestDelayNeverFallsOrLeavesItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		n := counts().Draw(t, "failures")
		d := p.Delay(n)
		if n <= p.FreeFailures {
			if d != 0 {
				t.Fatalf("Delay(%d) = %v within FreeFailures", n, d)
			}
		} else if d < p.Initial || d > p.Max {
			t.Fatalf("Delay(%d) = %d out of [%d, %d]", n, d, p.Initial, p.Max)
		}
		if n < math.MaxInt && p.Delay(n+1) < d {
			t.Fatalf("Delay(%d) = %d falls to %d", n, d, p.Delay(n+1))
		}
		more := rapid.IntRange(n, math.MaxInt).Draw(t, "more")
		if p.Delay(more) < d {
			t.Fatalf("Delay(%d) = %d falls to Delay(%d) = %d", n, d, more, p.Delay(more))
		}
	})
}

func TestDelayGrowsByFactorEachStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		p.FreeFailures = min(p.FreeFailures, 3)
		factor := p.Factor
		if factor == 0 {
			factor = 2
		}
		slow := float64(p.Initial)
		for n := p.FreeFailures + 1; n < 300; n++ {
			want := min(slow, float64(p.Max))
			if got := float64(p.Delay(n)); math.Abs(got-want) > 1+want*1e-9 {
				t.Fatalf("Delay(%d) = %v, want about %v", n, got, want)
			}
			slow *= factor
		}
	})
}

// Doubling is exact up to the largest duration, by arithmetic that cannot overflow.
func TestDelayDoublesExactly(t *testing.T) {
	for _, initial := range []time.Duration{1, 3, 10 * time.Second, 1 << 61, 1<<62 - 1, 1 << 62, maxDuration} {
		for _, limit := range []time.Duration{maxDuration, maxDuration - 1, initial} {
			p := backoff.Policy{Initial: initial, Max: max(limit, initial)}
			want := big.NewInt(int64(initial))
			for n := 1; n < 200; n++ {
				if want.Cmp(big.NewInt(int64(p.Max))) > 0 {
					want.SetInt64(int64(p.Max))
				}
				if got := p.Delay(n); int64(got) != want.Int64() {
					t.Fatalf("%d up to %d: Delay(%d) = %d, want %d", initial, p.Max, n, got, want)
				}
				want.Lsh(want, 1)
			}
		}
	}
}

// Delays beyond the steps multiplied one by one have the promised precision and never
// decrease.
func TestDelayStaysExactAfterManySteps(t *testing.T) {
	p := backoff.Policy{Initial: time.Hour, Max: maxDuration, Factor: 1.001}
	slow := float64(p.Initial)
	for n := 1; n < 10_000; n++ {
		if got := float64(p.Delay(n)); math.Abs(got-slow) > slow*1e-9 {
			t.Fatalf("Delay(%d) = %v, want about %v", n, got, slow)
		}
		if p.Delay(n+1) <= p.Delay(n) {
			t.Fatalf("Delay(%d) = %v does not exceed Delay(%d)", n+1, p.Delay(n+1), n)
		}
		slow *= p.Factor
	}
	tiny := backoff.Policy{Initial: 1 << 62, Max: maxDuration, Factor: 1 + 0x1p-52}
	if got := tiny.Delay(math.MaxInt); got > maxDuration || got < tiny.Initial {
		t.Errorf("Delay of a tiny factor = %v", got)
	}
}

// No policy has a delay before the first failure, and none panics.
func TestDelayBeforeFirstFailureIsZero(t *testing.T) {
	for _, p := range []backoff.Policy{backoff.CrashLoop(), {Initial: second, Max: minute, FreeFailures: -5}, {Initial: -1, FreeFailures: math.MinInt}, {}} {
		for _, failures := range []int{0, -1, math.MinInt} {
			if got := p.Delay(failures); got != 0 {
				t.Errorf("%+v: Delay(%d) = %v", p, failures, got)
			}
		}
	}
}

// A delay keeps to Max even if a float64 cannot distinguish Max from its neighbours.
func TestDelayKeepsToHugeMax(t *testing.T) {
	for _, limit := range []time.Duration{1<<53 + 1, 1<<53 + 3, 1<<62 + 1, maxDuration - 1, maxDuration} {
		for _, initial := range []time.Duration{limit, limit - 1} {
			p := backoff.Policy{Initial: initial, Max: limit, Factor: 1.5}
			if got := p.Delay(1); got < initial || got > limit {
				t.Errorf("%d up to %d: Delay(1) = %d", initial, limit, got)
			}
			if got := p.Delay(2); got != limit {
				t.Errorf("%d up to %d: Delay(2) = %d", initial, limit, got)
			}
		}
	}
}

// WithMax never raises a delay when it lowers Max and never lowers one when it
// raises Max.
func TestWithMaxMovesDelaysInOneDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		capped := p.WithMax(durations().Draw(t, "cap"))
		if err := capped.Validate(); err != nil {
			t.Fatal(err)
		}
		n := counts().Draw(t, "failures")
		was, is := p.Delay(n), capped.Delay(n)
		if capped.Max <= p.Max && is > was || capped.Max >= p.Max && is < was {
			t.Fatalf("cap %d: Delay(%d) goes from %d to %d", capped.Max, n, was, is)
		}
	})
}

func TestJitterKeepsToItsRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		d := rapid.OneOf(rapid.Just(time.Duration(0)), durations()).Draw(t, "delay")
		r := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{
			0, 1 - 0x1p-53, 1, 2, -1, math.NaN(), math.Inf(1), math.Inf(-1)})).Draw(t, "rand")
		got := p.Jittered(d, r)
		if got > d || got < 0 || d > 0 && got == 0 {
			t.Fatalf("jittered(%d) = %d", d, got)
		}
		// Beyond 2^53 a float cannot tell the open lower end from its neighbours.
		if p.Jitter > 0 && d > 0 && d < 1<<53 && float64(d-got) >= p.Jitter*float64(d) {
			t.Fatalf("jittered(%d) = %d, not above d*(1-%v)", d, got, p.Jitter)
		}
	})
}

// Drawn delays cover their whole range.
func TestJitterReachesItsWholeRange(t *testing.T) {
	p := backoff.Policy{Initial: time.Second, Max: time.Second, Jitter: 0.5}
	for _, tt := range []struct {
		rand float64
		want time.Duration
	}{{0, time.Second}, {0.5, 750 * time.Millisecond}, {1 - 0x1p-53, 500*time.Millisecond + 1}, {1, 500*time.Millisecond + 1}, {math.Inf(1), 500*time.Millisecond + 1}} {
		if got := p.Jittered(time.Second, tt.rand); got != tt.want {
			t.Errorf("rand %v: %v, want %v", tt.rand, got, tt.want)
		}
	}
}

func TestPolicyErrorsNameEachField(t *testing.T) {
	good := backoff.Policy{Initial: 1, Max: 2, Factor: 1.5, Jitter: 1, ResetAfter: 1, FreeFailures: math.MaxInt}
	if err := good.Validate(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for _, preset := range []backoff.Policy{backoff.CrashLoop(), backoff.ReducedCrashLoop(), backoff.ImagePull(), backoff.JobPod()} {
		if err := preset.Validate(); err != nil {
			t.Errorf("%+v: %v", preset, err)
		}
	}
	for want, change := range map[string]func(*backoff.Policy){
		"Initial: invalid value 0s: must be > 0":                                        func(p *backoff.Policy) { p.Initial = 0 },
		"Initial: invalid value -1ns: must be > 0":                                      func(p *backoff.Policy) { p.Initial = -1 },
		"Max: invalid value 0s: must be >= the first delay, 1ns":                        func(p *backoff.Policy) { p.Max = 0 },
		"Factor: invalid value 0.9: must be 0 (means 2) or >= 1 and finite":             func(p *backoff.Policy) { p.Factor = 0.9 },
		"Factor: invalid value -2: must be 0 (means 2) or >= 1 and finite":              func(p *backoff.Policy) { p.Factor = -2 },
		"Factor: invalid value NaN: must be 0 (means 2) or >= 1 and finite":             func(p *backoff.Policy) { p.Factor = math.NaN() },
		"Factor: invalid value +Inf: must be 0 (means 2) or >= 1 and finite":            func(p *backoff.Policy) { p.Factor = math.Inf(1) },
		"Jitter: invalid value 1.5: must be in 0..1":                                    func(p *backoff.Policy) { p.Jitter = 1.5 },
		"Jitter: invalid value -0.1: must be in 0..1":                                   func(p *backoff.Policy) { p.Jitter = -0.1 },
		"Jitter: invalid value NaN: must be in 0..1":                                    func(p *backoff.Policy) { p.Jitter = math.NaN() },
		"ResetAfter: invalid value -1s: must be >= 0 (0 means twice the longest delay)": func(p *backoff.Policy) { p.ResetAfter = -time.Second },
		"FreeFailures: invalid value -1: must be >= 0":                                  func(p *backoff.Policy) { p.FreeFailures = -1 },
	} {
		p := good
		change(&p)
		if err := p.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	err := backoff.Policy{Max: -1, Factor: -1, Jitter: -1, ResetAfter: -1, FreeFailures: -1}.Validate()
	if got, want := fieldsOf(err), []string{"Initial", "Max", "Factor", "Jitter", "ResetAfter", "FreeFailures"}; !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

func TestUnsetResetAfterIsTwiceMax(t *testing.T) {
	for _, tt := range []struct {
		policy backoff.Policy
		want   time.Duration
	}{
		{backoff.CrashLoop(), 10 * time.Minute},
		{backoff.ReducedCrashLoop(), 10 * time.Minute},
		{backoff.CrashLoop().WithMax(time.Second), 10 * time.Minute},
		{backoff.ImagePull(), 10 * time.Minute},
		{backoff.JobPod(), 20 * time.Minute},
		{backoff.Policy{Initial: 1, Max: maxDuration}, maxDuration},
	} {
		if got := tt.policy.ResetThreshold(); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.policy, got, tt.want)
		}
	}
}

// Jitter draws from above half of the delay here: half is not drawn, one more is.
func TestDelayThatJitterCannotDrawIsNominal(t *testing.T) {
	p := backoff.Policy{Initial: 10 * time.Second, Max: time.Minute, Jitter: 0.5}
	for d, want := range map[time.Duration]time.Duration{
		5 * time.Second:    10 * time.Second,
		5*time.Second + 1:  5*time.Second + 1,
		10 * time.Second:   10 * time.Second,
		10*time.Second + 1: 10 * time.Second,
	} {
		if got := p.Drawn(1, d); got != want {
			t.Errorf("%v becomes %v, want %v", d, got, want)
		}
	}
}
