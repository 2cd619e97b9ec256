package jobcontroller

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// running is a Controller in a synctest bubble, with virtual time.
type running struct {
	*Controller
	faults *faults
	stop   func() // ends it, and returns when it has ended
}

// start runs a Controller on the server, and logs to the test's log.
func start(t testing.TB, s *apiServer, o Options, f *faults) *running {
	t.Helper()
	if f == nil {
		f = &faults{}
	}
	c, err := New(s.client(t, f), o)
	if err != nil {
		t.Fatal(err)
	}
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logWriter{t}), textlogger.Verbosity(0)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), log))
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(stop)
	return &running{c, f, stop}
}

// logWriter writes lines to the log of a verbose test.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(line []byte) (int, error) {
	if *verbose {
		w.t.Log(strings.TrimSuffix(string(line), "\n"))
		return len(line), nil
	}
	return io.Discard.Write(line)
}

// bubble runs a test in a synctest bubble. It ends when all goroutines have ended, and
// fails if one never does.
func bubble(t *testing.T, f func(t *testing.T, s *apiServer)) {
	synctest.Test(t, func(t *testing.T) { f(t, newAPIServer()) })
}

// after advances the time and waits until all goroutines rest.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// newJob returns a Job with one container.
func newJob(name string, change func(*batchv1.Job)) *batchv1.Job {
	one := int32(1)
	limit := int32(6)
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec: batchv1.JobSpec{
			Parallelism: &one, Completions: &one, BackoffLimit: &limit,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main"}},
			}},
		},
	}
	if change != nil {
		change(j)
	}
	return j
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
