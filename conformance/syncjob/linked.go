package syncjob

import (
	"context"
	"time"
	_ "unsafe" // for go:linkname

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/utils/clock"

	corev1 "k8s.io/api/core/v1"
)

// The functions below are unexported ones of Kubernetes' Job controller. Their types
// stand for those of Kubernetes, with the same layout. linked.s lets them have no body.

// backoffStore holds the failures in a row of Jobs.
type backoffStore struct{}

type backoffRecord struct {
	key      string
	failures int32
	last     *time.Time
}

// uidExpectations holds the pods whose finalizers are about to go.
type uidExpectations struct{}

// newControllerWithClock takes two more informers, which are nil here.
//
//go:linkname newControllerWithClock k8s.io/kubernetes/pkg/controller/job.newControllerWithClock
func newControllerWithClock(ctx context.Context, client clientset.Interface, c clock.WithTicker, pods coreinformers.PodInformer, jobs batchinformers.JobInformer, noWorkloads, noPodGroups any) (*job.Controller, error)

//go:linkname updateBackoffRecord k8s.io/kubernetes/pkg/controller/job.(*backoffStore).updateBackoffRecord
func updateBackoffRecord(s *backoffStore, record backoffRecord) error

//go:linkname removeBackoffRecord k8s.io/kubernetes/pkg/controller/job.(*backoffStore).removeBackoffRecord
func removeBackoffRecord(s *backoffStore, key string) error

//go:linkname newBackoffRecord k8s.io/kubernetes/pkg/controller/job.(*backoffStore).newBackoffRecord
func newBackoffRecord(s *backoffStore, key string, succeeded, failed []*corev1.Pod) backoffRecord

//go:linkname getExpectedUIDs k8s.io/kubernetes/pkg/controller/job.(*uidTrackingExpectations).getExpectedUIDs
func getExpectedUIDs(e *uidExpectations, key string) sets.Set[types.UID]

//go:linkname expectFinalizersRemoved k8s.io/kubernetes/pkg/controller/job.(*uidTrackingExpectations).expectFinalizersRemoved
func expectFinalizersRemoved(e *uidExpectations, logger klog.Logger, key string, uids []types.UID) error

//go:linkname deleteExpectations k8s.io/kubernetes/pkg/controller/job.(*uidTrackingExpectations).deleteExpectations
func deleteExpectations(e *uidExpectations, logger klog.Logger, key string)
