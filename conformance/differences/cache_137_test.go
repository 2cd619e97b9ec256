//go:build !kubernetes138

package differences

import kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

// kubeletCache is the kubelet's cache, whose methods have a context since 1.38.
type kubeletCache struct{ kubecontainer.Cache }

func newKubeletCache() kubeletCache { return kubeletCache{kubecontainer.NewCache()} }
