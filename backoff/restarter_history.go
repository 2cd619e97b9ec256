package backoff

// ExitRecord is an exit and what was decided about it. An ExitRecord is a plain value, to be
// copied and shared.
type ExitRecord struct {
	Exit     Exit     `json:"exit"`
	Decision Decision `json:"decision"`
}

// outcomes is a ring of the exits before the last one.
type outcomes struct {
	ring   []ExitRecord
	oldest int // index in ring once that is full
}

// remember keeps the last exit among at most n earlier ones.
func (h *history) remember(n int) {
	if h.earlier == nil {
		h.earlier = &outcomes{}
	}
	h.earlier.add(ExitRecord{h.last, h.decision}, n)
}

func (o *outcomes) add(one ExitRecord, n int) {
	if len(o.ring) < n {
		o.ring = append(o.ring, one)
		return
	}
	o.ring[o.oldest] = one
	o.oldest = (o.oldest + 1) % n
}

// list returns a copy, oldest first.
func (o *outcomes) list() []ExitRecord {
	if o == nil {
		return nil
	}
	return append(append([]ExitRecord(nil), o.ring[o.oldest:]...), o.ring[:o.oldest]...)
}
