package main

import (
	"maps"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// podView is what was reported of a pod.
type podView struct {
	meta       *cri.PodSandboxMetadata
	containers map[string]*containerView
}

type containerView struct {
	name     string
	attempt  uint32
	created  time.Time
	started  time.Time
	stage    stage
	existing bool // it was in the cache, or the generator reported it
}

// stage is how much of a container's life was reported.
type stage int

const (
	stageNothing stage = iota
	stageCreated
	stageStarted
	stageDied
	stageRemoved
)

// look returns the view of a pod with the names that the cache knows by now.
func (r *reporter) look(pod string) *podView {
	p := r.pods[pod]
	if p == nil {
		p = &podView{containers: map[string]*containerView{}}
		r.pods[pod] = p
	}
	st := r.cache.Get(pod).Status
	if st == nil {
		return p
	}
	if m := st.sandbox.GetMetadata(); m != nil {
		p.meta = m
		p.container(pod).created = stamp(st.sandbox.CreatedAt)
	}
	for _, s := range st.containers {
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

// forget drops the containers that are gone, and the pod if it has no others.
func (r *reporter) forget(pod string) {
	p := r.pods[pod]
	maps.DeleteFunc(p.containers, func(id string, c *containerView) bool {
		return c.stage == stageRemoved || !c.existing
	})
	if len(p.containers) == 0 {
		delete(r.pods, pod)
	}
}
