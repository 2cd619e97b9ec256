//go:build kubernetes138

package syncjob

import "k8s.io/client-go/util/consistency"

// consistencyStore is the type of Kubernetes' notes about its writes, which moved in 1.38.
type consistencyStore = consistency.ConsistencyStore
