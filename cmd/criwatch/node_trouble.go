package main

// troubles is what is wrong between criwatch and the runtime.
type troubles struct {
	list   error // of the last full list
	stream error // why the last stream ended
	closed bool  // no stream is open
}

// troubles returns what is wrong now.
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
