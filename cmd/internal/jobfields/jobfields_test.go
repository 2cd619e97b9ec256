package jobfields

import "testing"

func TestFieldsOfJobsAreKnown(t *testing.T) {
	types, err := Types()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]string{
		{"Job", "spec", "podFailurePolicy", "rules", "onExitCodes", "containerName"},
		{"Job", "spec", "podFailurePolicy", "rules", "name"},
		{"Job", "spec", "template", "spec", "containers", "livenessProbe", "httpGet", "port"},
		{"Job", "spec", "template", "spec", "volumes", "ephemeral", "volumeClaimTemplate", "spec", "resources", "requests"},
		{"Job", "spec", "template", "spec", "initContainers", "restartPolicyRules", "exitCodes", "values"},
		{"CronJob", "spec", "jobTemplate", "spec", "template", "metadata", "labels"},
	} {
		if types[path[0]].Field(path[1:]...) == nil {
			t.Errorf("%v is not known", path)
		}
	}
	if types["Job"].Field("spec", "paralelism") != nil {
		t.Error("an unknown field is known")
	}
}
