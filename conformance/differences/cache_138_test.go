//go:build kubernetes138

package differences

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// kubeletCache is the kubelet's cache with the methods that it had up to 1.37. Those of
// 1.38 also have a context, which they ignore.
type kubeletCache struct{ kubecontainer.Cache }

func newKubeletCache() kubeletCache { return kubeletCache{kubecontainer.NewCache()} }

func (c kubeletCache) Get(id types.UID) (*kubecontainer.PodStatus, error) {
	return c.Cache.Get(context.Background(), id)
}

func (c kubeletCache) GetNewerThan(id types.UID, min time.Time) (*kubecontainer.PodStatus, error) {
	return c.Cache.GetNewerThan(context.Background(), id, min)
}
