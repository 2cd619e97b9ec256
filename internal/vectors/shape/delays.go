package shape

import "time"

// Delays is the input of a case in restartdelay.json: the settings of a curve, and the
// lengths of the runs or attempts that failed.
type Delays struct {
	BaseMS  int64   `json:"base_ms"`
	MaxMS   int64   `json:"max_ms"`
	ResetMS int64   `json:"reset_ms"` // of crash loops only
	RunsMS  []int64 `json:"runs_ms"`
}

func (d Delays) Base() time.Duration  { return milliseconds(d.BaseMS) }
func (d Delays) Max() time.Duration   { return milliseconds(d.MaxMS) }
func (d Delays) Reset() time.Duration { return milliseconds(d.ResetMS) }

// Runs returns the lengths of the runs, or of the attempts.
func (d Delays) Runs() (runs []time.Duration) {
	for _, ms := range d.RunsMS {
		runs = append(runs, milliseconds(ms))
	}
	return runs
}

// DelaysOutcome returns the delay after each run in the form of a wanted outcome, in
// milliseconds that need not be whole.
func DelaysOutcome(delays []time.Duration) any {
	ms := []float64{}
	for _, d := range delays {
		ms = append(ms, float64(d)/float64(time.Millisecond))
	}
	return map[string]any{"delays_ms": ms}
}

// Wait is the common input of waits before replacements.
type Wait struct {
	Time   *Time `json:"now"`
	BaseMS int64 `json:"base_ms"`
	MaxMS  int64 `json:"max_ms"`
}

func (w Wait) Now() time.Time      { return w.Time.At(time.Time{}) }
func (w Wait) Base() time.Duration { return milliseconds(w.BaseMS) }
func (w Wait) Max() time.Duration  { return milliseconds(w.MaxMS) }

// WaitOutcome returns a wait in the form of a wanted outcome.
func WaitOutcome(wait time.Duration) any { return map[string]any{"ms": wait.Milliseconds()} }

// ReadyOutcome returns the indexes that need not wait, and the shortest wait, in the form
// of a wanted outcome.
func ReadyOutcome(indexes []int, wait func(index int) (time.Duration, error)) (any, error) {
	ready, shortest := []int{}, time.Duration(0)
	for n, i := range indexes {
		wait, err := wait(i)
		if err != nil {
			return nil, err
		}
		if wait == 0 {
			ready = append(ready, i)
		}
		if n == 0 || wait < shortest {
			shortest = wait
		}
	}
	return map[string]any{"ready": ready, "wait_ms": shortest.Milliseconds()}, nil
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
