package container

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Versions of Kubernetes differ in these two methods.

type ROCache interface {
	Get(types.UID) (*PodStatus, error)
	GetNewerThan(types.UID, time.Time) (*PodStatus, error)
}

func (c *cache) Get(id types.UID) (*PodStatus, error) { return c.made().Get(id) }

func (c *cache) GetNewerThan(id types.UID, min time.Time) (*PodStatus, error) {
	return c.made().GetNewerThan(id, min)
}
