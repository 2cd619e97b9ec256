//go:build !kubernetes138

package syncjob

import "k8s.io/kubernetes/pkg/controller/util/consistency"

// consistencyStore is the type of Kubernetes' notes about its writes.
type consistencyStore = consistency.ConsistencyStore
