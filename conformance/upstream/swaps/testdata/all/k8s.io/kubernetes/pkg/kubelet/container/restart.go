package container

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/conformance/upstream/podcache"
	"github.com/restartkit/restart/pleg/statuscache"
)

type Cache interface {
	ROCache
	Set(types.UID, *PodStatus, error, time.Time) (updated bool)
	SetObservedTime(types.UID, time.Time)
	Delete(types.UID)
	UpdateTime(time.Time)
}

func NewCache() Cache { return &cache{} }

// cache is the adapter. A fork needs only the methods of Cache and Pleg, and NewCache can
// return a podcache.Cache. The other methods, the fields once and pods, and data are glue
// for the package's tests. One of them creates a cache without NewCache, so the adapter is
// created on first use.
type cache struct {
	once    sync.Once
	adapter *podcache.Cache[PodStatus]
	pods    map[types.UID]*data // never read
}

// MergeStatus is set by package pleg, which imports this one.
var MergeStatus func(old, new *PodStatus) *PodStatus

func (c *cache) made() *podcache.Cache[PodStatus] {
	c.once.Do(func() {
		c.adapter = podcache.New[PodStatus](clock.RealClock{}, func(id types.UID) *PodStatus { return &PodStatus{ID: id} },
			func(old, new *PodStatus) *PodStatus {
				if MergeStatus == nil {
					return new
				}
				return MergeStatus(old, new)
			})
	})
	return c.adapter
}

func (c *cache) Pleg() *statuscache.Cache[types.UID, *PodStatus] { return c.made().Pleg() }

func (c *cache) Set(id types.UID, status *PodStatus, err error, at time.Time) bool {
	return c.made().Set(id, status, err, at)
}

func (c *cache) SetObservedTime(id types.UID, at time.Time) { c.made().SetObservedTime(id, at) }
func (c *cache) Delete(id types.UID)                        { c.made().Delete(id) }
func (c *cache) UpdateTime(at time.Time)                    { c.made().UpdateTime(at) }

// data is glue for tests that only check for a non-nil value.
type data struct{}

// getIfNewerThan is glue. It returns the result of GetNewerThan without waiting.
func (c *cache) getIfNewerThan(id types.UID, min time.Time) *data {
	if c.made().Pleg().Get(id).Modified.After(min) {
		return &data{}
	}
	return nil
}

// subscribe is glue. It turns the adapter's wait into a channel for the tests to poll.
func (c *cache) subscribe(id types.UID, min time.Time) chan *data {
	ch := make(chan *data, 1)
	if d := c.getIfNewerThan(id, min); d != nil {
		ch <- d
		return ch
	}
	go func() {
		c.made().GetNewerThan(id, min)
		ch <- &data{}
	}()
	return ch
}
