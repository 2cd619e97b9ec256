package criwatch

import (
	"maps"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

type podMeta = cri.PodSandboxMetadata

// podView is a pod as reported so far.
type podView struct {
	Meta       *podMeta                  `json:"meta,omitempty"`
	Containers map[string]*containerView `json:"containers,omitempty"`
}

type containerView struct {
	Name    string    `json:"name,omitempty"`
	Attempt uint32    `json:"attempt,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Stage   stage     `json:"stage"`

	cached bool // in the cache, at the last look
	state  pleg.State
}

// stage is the last reported stage of a container's life. The numbers are in state files.
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
		p = &podView{Containers: map[string]*containerView{}}
		r.pods[pod] = p
	}
	for _, c := range p.Containers {
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
		p.Meta = s.Metadata
		p.container(pod).Created = stamp(s.CreatedAt)
	}
	for _, s := range entry.Status.containers {
		c := p.container(s.Id)
		c.Name, c.Attempt = s.GetMetadata().GetName(), s.GetMetadata().GetAttempt()
		c.Created, c.Started = stamp(s.CreatedAt), stamp(s.StartedAt)
	}
	return p
}

func (p *podView) container(id string) *containerView {
	c := p.Containers[id]
	if c == nil {
		c = &containerView{}
		p.Containers[id] = c
	}
	return c
}

// forget drops removed containers, and the pod if no container is left. A started
// container stays until its exit is reported.
func (r *reporter) forget(pod string, p *podView) {
	maps.DeleteFunc(p.Containers, func(id string, c *containerView) bool {
		return !c.cached && (c.Stage == stageNothing || c.Stage == stageRemoved)
	})
	if len(p.Containers) == 0 {
		delete(r.pods, pod)
	}
}
