package main

import (
	"maps"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

type podMeta = cri.PodSandboxMetadata

// podView is a pod as reported so far.
type podView struct {
	meta       *podMeta
	containers map[string]*containerView
}

type containerView struct {
	name    string
	attempt uint32
	created time.Time
	started time.Time
	stage   stage
	cached  bool // in the cache, at the last look
	state   pleg.State
}

// stage is the last reported stage of a container's life.
type stage int

const (
	stageNothing stage = iota
	stageCreated
	stageStarted
	stageDied
	stageRemoved
)

// look updates the view of a pod from the cache and returns it.
func (r *reporter) look(pod string) *podView {
	p := r.pods[pod]
	if p == nil {
		p = &podView{containers: map[string]*containerView{}}
		r.pods[pod] = p
	}
	for _, c := range p.containers {
		c.cached, c.state = false, pleg.StateUnknown
	}
	entry := r.cache.Get(pod)
	if !entry.Present || entry.Status == nil {
		return p
	}
	for _, s := range entry.Status.list() {
		c := p.container(s.ID)
		c.cached, c.state = true, s.State
	}
	if s := entry.Status.sandbox; s != nil {
		p.meta = s.Metadata
		p.container(pod).created = stamp(s.CreatedAt)
	}
	for _, s := range entry.Status.containers {
		c := p.container(s.Id)
		c.name, c.attempt = s.GetMetadata().GetName(), s.GetMetadata().GetAttempt()
		c.created, c.started = stamp(s.CreatedAt), stamp(s.StartedAt)
	}
	return p
}

func (p *podView) container(id string) *containerView {
	c := p.containers[id]
	if c == nil {
		c = &containerView{}
		p.containers[id] = c
	}
	return c
}

// forget drops removed containers, and the pod if no container is left. A started
// container stays until its exit is reported.
func (r *reporter) forget(pod string, p *podView) {
	maps.DeleteFunc(p.containers, func(id string, c *containerView) bool {
		return !c.cached && (c.stage == stageNothing || c.stage == stageRemoved)
	})
	if len(p.containers) == 0 {
		delete(r.pods, pod)
	}
}
