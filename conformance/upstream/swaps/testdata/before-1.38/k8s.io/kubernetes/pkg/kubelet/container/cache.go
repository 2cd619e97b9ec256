package container

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The interfaces of the cache differ between versions of Kubernetes, so this file does, too.

type Cache interface {
	ROCache
	Set(types.UID, *PodStatus, error, time.Time) (updated bool)
	SetObservedTime(types.UID, time.Time)
	Delete(types.UID)
	UpdateTime(time.Time)
}

type ROCache interface {
	Get(types.UID) (*PodStatus, error)
	GetNewerThan(types.UID, time.Time) (*PodStatus, error)
}

func NewCache() Cache { return &cache{} }

func (c *cache) Get(id types.UID) (*PodStatus, error) { return c.made().Get(id) }

func (c *cache) GetNewerThan(id types.UID, min time.Time) (*PodStatus, error) {
	return c.made().GetNewerThan(id, min)
}
