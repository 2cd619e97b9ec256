package jobcontroller

import (
	"errors"
	"reflect"
	"testing"
	"time"

	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
)

func TestOptionsNameEachMistake(t *testing.T) {
	factory := kubeinformers.NewSharedInformerFactory(fake.NewClientset(), 0)
	for _, test := range []struct {
		options Options
		fields  []string
	}{
		{Options{}, nil},
		{Options{Workers: -1, Parallel: -1, BatchPeriod: -1}, []string{"Workers", "Parallel", "BatchPeriod"}},
		{Options{Engine: jobpolicy.Engine{BaseDelay: -1, IgnoredDelay: 7}}, []string{"Engine.BaseDelay", "Engine.IgnoredDelay"}},
		{Options{Retry: backoff.Policy{Max: 1}}, []string{"Retry.Initial"}},
		{Options{Pods: factory.Core().V1().Pods()}, []string{"Jobs"}},
		{Options{Jobs: factory.Batch().V1().Jobs()}, []string{"Jobs"}},
	} {
		_, err := New(fake.NewClientset(), test.options)
		var mistakes field.Errors
		errors.As(err, &mistakes)
		var fields []string
		for _, m := range mistakes {
			fields = append(fields, m.Field)
		}
		if len(fields) != len(test.fields) {
			t.Errorf("%v, want %v", err, test.fields)
			continue
		}
		for i := range fields {
			if fields[i] != test.fields[i] {
				t.Errorf("%v, want %v", err, test.fields)
			}
		}
	}
}

// Defaults replace zero values and nothing else.
func TestDefaultsReplaceZeros(t *testing.T) {
	got := Options{}.withDefaults()
	if got.Engine.ManagedBy != DefaultManagedBy || got.Workers != 5 || got.Parallel != 50 || got.BatchPeriod != time.Second ||
		got.Retry != (backoff.Policy{Initial: time.Second, Max: time.Minute}) || got.Metrics == nil || got.Clock == nil {
		t.Errorf("%+v", got)
	}
	set := Options{
		Engine: jobpolicy.Engine{ManagedBy: "example.com/this"}, Workers: 1, Parallel: 2, BatchPeriod: 3,
		Retry: backoff.JobPod(), Metrics: NewMetrics(MetricsOptions{}), Clock: clocktesting.NewFakeClock(t0),
	}
	if got := set.withDefaults(); !reflect.DeepEqual(got, set) {
		t.Errorf("%+v, want %+v", got, set)
	}
}
