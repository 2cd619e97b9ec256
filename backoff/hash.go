package backoff

import "hash/maphash"

// hasher is a hash function.
type hasher[K comparable] struct{ seed maphash.Seed }

func newHasher[K comparable]() hasher[K] { return hasher[K]{maphash.MakeSeed()} }

func (h *hasher[K]) hash(key K) uint64 { return maphash.Comparable(h.seed, key) }
