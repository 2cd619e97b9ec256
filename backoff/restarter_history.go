package backoff

// Outcome is an exit and what was decided about it. An Outcome is a plain value, to be
// copied and shared.
type Outcome struct {
	Exit     Exit     `json:"exit"`
	Decision Decision `json:"decision"`
}

// outcomes is a ring of the exits before the last one.
type outcomes struct {
	ring   []Outcome
	oldest int // index in ring once that is full
}

// remember keeps the last exit among at most n earlier ones.
func (h *history) remember(n int) {
	if h.earlier == nil {
		h.earlier = &outcomes{}
	}
	h.earlier.add(Outcome{h.last, h.decision}, n)
}

func (o *outcomes) add(one Outcome, n int) {
	if len(o.ring) < n {
		o.ring = append(o.ring, one)
		return
	}
	o.ring[o.oldest] = one
	o.oldest = (o.oldest + 1) % n
}

// list returns a copy, oldest first.
func (o *outcomes) list() []Outcome {
	if o == nil {
		return nil
	}
	return append(append([]Outcome(nil), o.ring[o.oldest:]...), o.ring[:o.oldest]...)
}
