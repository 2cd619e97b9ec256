// Package jobrun runs a Job of Kubernetes on this machine, with processes in place of
// containers. It stands in for the Job controller, whose decisions come from package
// jobpolicy, for the API server, which is a Job and its pods in memory and perhaps in a
// file, and for the kubelet, whose restarts within a pod come from package backoff.
//
//	run, err := jobrun.Open(jobrun.Options{Job: job, State: "job.state"}, observer)
//	...
//	defer run.Close()
//	err = run.Run(signals)
//	condition, finished := run.Job().Status.Finished()
package jobrun

import (
	"os"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// Options select the Job to run, and the way of running it.
type Options struct {
	// Job is valid, has a name, and Check finds nothing wrong with it.
	Job *batchv1.Job
	// Generated is the prefix of a generated name, or "". With State, a run that goes on
	// has the name that the first one got.
	Generated string

	Engine   jobpolicy.Engine  // decides about pods
	Restarts *backoff.Policy   // the delays of restarts within a pod; nil means the kubelet's
	Values   map[string]string // for variables from Secrets and ConfigMaps

	// State is the file in which the run is kept, so that a later one goes on with it;
	// "" keeps nothing.
	State string

	Colours bool // keep the escape sequences for colours in the output of processes
}

// Observer hears of everything that happens. Its methods are called from several
// goroutines. While one does not return, the run waits.
type Observer interface {
	// Began is called before anything starts. An error ends the run.
	Began(at time.Time, resumed bool) error
	// Decided is called with each step before it is saved. If the run is killed in
	// between, the next run decides the same again.
	Decided(Changes) error
	// Changed is called with each step once it was saved.
	Changed(Changes)
	// Started is called when the first process of a pod runs, and once more when a later
	// run resumes the pod.
	Started(pod PodID, at time.Time)
	// Restarting is called when a container has ended and will start again in its pod.
	Restarting(Restart)
	// Line is called with each line that a container prints.
	Line(pod PodID, container string, line process.Line)
	// Note is called with a remark about a pod, or about the Job if pod is "".
	Note(pod, text string)
}

// Run is a Job that runs. Create one with Open; the zero value is not usable.
type Run struct {
	host
	engine   jobpolicy.Engine
	job      *batch.Job
	memory   jobpolicy.State
	pods     map[string]*Pod // by UID
	attempts map[int]int     // begun, by index
	store    *store          // nil keeps nothing
	old      *state          // of an earlier run, until this one has begun

	live        sync.WaitGroup // running pods
	unsaved     bool           // a pod has changed since the state was saved
	interrupted bool
	suspended   []*Pod // ended by the interruption
}

// host holds the resources that the pods share.
type host struct {
	observer Observer
	template *corev1.PodSpec
	values   map[string]string
	machine  []string // environment of every process
	restarts *backoff.Policy
	colours  bool
	children *process.Runner
	shortage sync.Once     // reports only the first wait of a process
	changed  chan struct{} // holds a token after a pod has changed

	// commits takes channels that are closed once the present status of all pods is
	// saved; nil if nothing is.
	commits chan chan struct{}
	asked   []chan struct{} // received, and not closed yet
}

// Open prepares a run. If the file of Options.State has an earlier run of the Job, it
// goes on with that. Nothing is started until Run.
func Open(o Options, observer Observer) (*Run, error) {
	job := convert.Job(o.Job)
	job.Spec.Default()
	job.UID, job.Status = newUID(), batch.JobStatus{}
	r := &Run{
		host: host{
			observer: observer,
			template: &o.Job.Spec.Template.Spec,
			values:   o.Values,
			machine:  os.Environ(),
			restarts: o.Restarts,
			colours:  o.Colours,
			changed:  make(chan struct{}, 1),
		},
		engine:   o.Engine,
		job:      job,
		pods:     make(map[string]*Pod),
		attempts: make(map[int]int),
	}
	if o.State == "" {
		return r, nil
	}
	store, err := openStore(o.State)
	if err != nil {
		return nil, err
	}
	r.commits = make(chan chan struct{})
	r.store, r.old = store, store.old
	store.spec = &o.Job.Spec
	if r.old != nil {
		if err := r.takeOver(o.Generated); err != nil {
			store.close()
			return nil, err
		}
	}
	return r, nil
}

// Job returns the Job with its status. Do not use it while Run runs, and do not change
// it.
func (r *Run) Job() *batch.Job { return r.job }

// Resumed reports whether the run goes on with an earlier one.
func (r *Run) Resumed() bool { return r.old != nil }

// Interrupted reports whether a signal ended the run.
func (r *Run) Interrupted() bool { return r.interrupted }

// Close frees the file of the state.
func (r *Run) Close() {
	if r.store != nil {
		r.store.close()
	}
}

// Two plans begin at least minGap apart, and at least planShare times the cost of the
// first. So one plan answers many exits, and most of the machine is left to the
// processes. Without the gap, a Job of 3000 parallel processes spends half of its time
// on plans.
const (
	minGap    = time.Millisecond
	planShare = 4
)

// Run runs the Job until it ends or is interrupted, and may be called once. The first
// signal suspends the Job, which terminates its pods with their grace period, and the
// second one kills them. When Run returns, all processes have ended, as far as package
// process can promise that.
func (r *Run) Run(signals <-chan os.Signal) error {
	live := r.resume()
	if err := r.observer.Began(time.Now(), len(live) > 0 || r.old != nil); err != nil {
		return err
	}
	var err error
	if r.children, err = process.New(); err != nil {
		return err
	}
	defer r.killAll()
	if err := r.save(); err != nil {
		return err
	}
	for _, p := range live {
		r.live.Go(p.run.run)
	}
	for cost := minGap; ; {
		began := time.Now()
		busy, requeue, err := r.step(began)
		if err != nil {
			return err
		}
		if !r.running() {
			if _, finished := r.job.Status.Finished(); finished || !busy && requeue == 0 {
				return r.save()
			}
		}
		cost = min(time.Since(began), 2*cost) // a single long step was held up by something else
		gap := max(minGap, planShare*cost)
		if busy {
			requeue = gap
		}
		r.wait(signals, requeue)
		time.Sleep(time.Until(began.Add(gap)))
	}
}

// wait returns when a pod has changed or asks to be saved, a signal arrives, or the
// delay is over. A delay of 0 is never over.
func (r *Run) wait(signals <-chan os.Signal, delay time.Duration) {
	var due <-chan time.Time
	if delay > 0 {
		due = time.After(delay)
	}
	select {
	case <-r.changed:
	case c := <-r.commits:
		r.asked = append(r.asked, c)
	case <-due:
	case signal := <-signals:
		r.interrupt(signal)
	}
	for {
		select {
		case c := <-r.commits:
			r.asked = append(r.asked, c)
		default:
			return
		}
	}
}

// running reports whether any pod has not ended yet.
func (r *Run) running() bool {
	for _, p := range r.pods {
		if !p.Finished() {
			return true
		}
	}
	return false
}

// interrupt suspends the Job and, the second time, kills its pods.
func (r *Run) interrupt(signal os.Signal) {
	if r.interrupted {
		r.note("", "%v: killing the pods", signal)
		r.kill()
		return
	}
	r.note("", "%v: suspending the Job; a second signal kills its pods", signal)
	r.interrupted = true
	r.job.Spec.Suspend = true
}

func (r *Run) kill() {
	for _, p := range r.pods {
		p.run.killNow()
	}
}

// killAll kills all remaining processes of the run.
func (r *Run) killAll() {
	r.kill()
	r.live.Wait()
	r.children.Close()
}
