package jobcontroller

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/fake"
	"pgregory.net/rapid"
	"sigs.k8s.io/randfill"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// A pod made from the stored template equals one from client-go's template, plus the
// fields unknown to client-go.
func TestPodOfTheStoredTemplateIsThatOfClientGo(t *testing.T) {
	variables := 0
	rapid.Check(t, func(t *rapid.T) {
		job := newJob("a", nil)
		randfill.NewWithSeed(rapid.Int64().Draw(t, "seed")).NilChance(0.6).NumElements(0, 2).MaxDepth(8).Funcs(
			func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(c.Int63n(4e9), 0).UTC() },
			func(q *resource.Quantity, c randfill.Continue) {
				*q = *resource.NewQuantity(c.Int63n(1000), resource.DecimalSI)
			},
			func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) },
		).Fill(&job.Spec.Template.Spec)
		spec := &job.Spec.Template.Spec
		if len(spec.Containers) > 0 && rapid.Bool().Draw(t, "sets the variable itself") {
			spec.Containers[0].Env = append(spec.Containers[0].Env, corev1.EnvVar{Name: batch.JobCompletionIndexEnv, Value: "mine"})
		}
		if rapid.Bool().Draw(t, "indexed") {
			job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		}
		plan, err := jobpolicy.Engine{}.Plan(jobpolicy.Input{Job: convert.Job(job), Now: t0})
		if err != nil || len(plan.Create) != 1 {
			t.Fatalf("%+v, %v", plan, err)
		}
		stored := podTemplate{spec: map[string]any{}}
		text, err := json.Marshal(spec)
		if err == nil {
			err = utiljson.Unmarshal(text, &stored.spec)
		}
		if err != nil {
			t.Fatal(err)
		}
		stored.spec["novelty"] = "x"
		want := convert.NewPod(spec, plan.Create[0], metav1.NewControllerRef(job, jobKind))
		body := stored.pod(want)
		got := fieldsOf(json.RawMessage(body))
		if s := got["spec"].(map[string]any); s["novelty"] != "x" {
			t.Fatalf("%s", body)
		} else {
			delete(s, "novelty")
		}
		wanted := fieldsOf(want)
		delete(wanted, "status")
		wanted["apiVersion"], wanted["kind"] = "v1", "Pod"
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Fatal(diff)
		}
		if again := stored.pod(want); string(again) != string(body) {
			t.Fatalf("a second pod differs: %s", again)
		}
		for _, c := range want.Spec.Containers {
			variables += len(c.Env)
		}
	})
	if variables == 0 {
		t.Error("no container had a variable")
	}
}

// With client-go's fake client, which has no REST client, pods are made from the
// informer's template.
func TestPodsOfAFakeClientAreCreated(t *testing.T) {
	client := fake.NewClientset()
	c, err := New(client, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &pass{Controller: c, record: &jobRecord{}, job: newJob("a", nil)}
	template, err := p.template(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}, Spec: p.job.Spec.Template.Spec}
	if _, err := p.post(t.Context(), template, pod); err != nil {
		t.Fatal(err)
	}
	stored, err := client.CoreV1().Pods("ns").Get(t.Context(), "pod", metav1.GetOptions{})
	if err != nil || len(stored.Spec.Containers) != 1 {
		t.Errorf("%+v, %v", stored, err)
	}
}

// An answer that is no Job, or has a number that no field could hold, is an error.
func TestTemplateThatCannotBeRead(t *testing.T) {
	for _, text := range []string{`{"spec":`, `{"spec":{"template":{"spec":{"novelty":1e999}}}}`} {
		client := newClient(t, func(*http.Request) (*http.Response, error) {
			return respond(http.StatusOK, io.NopCloser(strings.NewReader(text))), nil
		})
		p := &pass{Controller: &Controller{client: client}, record: &jobRecord{}, job: newJob("a", func(j *batchv1.Job) { j.UID = "" })}
		if template, err := p.template(t.Context()); err == nil || errors.Is(err, errOutdated) || errors.Is(err, errGone) || template.spec != nil || p.record.template.spec != nil {
			t.Errorf("%s: %v, %v", text, template, err)
		}
	}
}

// The template is that of the Job as the pass sees it, or none.
func TestTemplateIsOfTheJobAsSeen(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*batchv1.Job) // of the Job as seen
		refuse bool
		want   error
	}{
		{"the same", func(*batchv1.Job) {}, false, nil},
		{"changed since", func(j *batchv1.Job) { j.Generation-- }, false, errOutdated},
		{"being deleted by now", func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()) }, false, errOutdated},
		{"another Job by now", func(j *batchv1.Job) { j.UID = "another" }, false, errGone},
		{"gone by now", func(j *batchv1.Job) { j.Name = "gone" }, false, errGone},
		{"not readable", func(*batchv1.Job) {}, true, errOther},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			r := refusing{"GET cached jobs", test.refuse}
			c := start(t, s, Options{}, r.faults())
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
			after(time.Minute)
			test.change(job)
			p := &pass{Controller: c.Controller, record: &jobRecord{}, job: job}
			template, err := p.template(context.Background())
			if test.want == errOther {
				if !apierrors.IsForbidden(err) {
					t.Errorf("%s: %v", test.name, err)
				}
			} else if !errors.Is(err, test.want) || (err == nil) != (template.spec != nil) {
				t.Errorf("%s: %v, %+v", test.name, err, template)
			}
			if outdated := errors.Is(err, errOutdated); outdated != (p.record.written != nil) {
				t.Errorf("%s: a newer Job is known: %v", test.name, p.record.written != nil)
			}
		})
	}
}
