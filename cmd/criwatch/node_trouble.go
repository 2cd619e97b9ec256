package main

// troubles holds the current failures between criwatch and the runtime.
type troubles struct {
	list   error // of the last full list
	stream error // why the last stream ended
	closed bool  // no stream is open
}

// troubles returns the current failures.
func (n *node) troubles() troubles {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.troubled
}

// complain wakes the reader of trouble.
func (n *node) complain() {
	select {
	case n.trouble <- struct{}{}:
	default:
	}
}
