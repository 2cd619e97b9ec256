package container

import (
	"context"
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
	Get(context.Context, types.UID) (*PodStatus, error)
	GetNewerThan(context.Context, types.UID, time.Time) (*PodStatus, error)
}

func NewCache() Cache { return &cache{} }

func (c *cache) Get(_ context.Context, id types.UID) (*PodStatus, error) { return c.made().Get(id) }

func (c *cache) GetNewerThan(_ context.Context, id types.UID, min time.Time) (*PodStatus, error) {
	return c.made().GetNewerThan(id, min)
}
