package container

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Versions of Kubernetes differ in these two methods.

type ROCache interface {
	Get(context.Context, types.UID) (*PodStatus, error)
	GetNewerThan(context.Context, types.UID, time.Time) (*PodStatus, error)
}

func (c *cache) Get(_ context.Context, id types.UID) (*PodStatus, error) { return c.made().Get(id) }

func (c *cache) GetNewerThan(_ context.Context, id types.UID, min time.Time) (*PodStatus, error) {
	return c.made().GetNewerThan(id, min)
}
