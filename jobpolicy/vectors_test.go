package jobpolicy

import (
	"testing"

	"github.com/restartkit/restart/internal/vectors"
)

// vectorFiles lists the vector files of this package.
func vectorFiles() []vectors.File {
	return []vectors.File{
		{Name: "podfailurepolicy", Kinds: map[string]vectors.Kind{"": {Run: podFailurePolicyVector}}},
		{Name: "finishtime", Kinds: map[string]vectors.Kind{"": {Run: finishTimeVector}}},
		{Name: "backoffrecord", Kinds: map[string]vectors.Kind{"": {Run: backoffRecordVector}}},
		{Name: "remaining", Kinds: map[string]vectors.Kind{
			"global":        {Run: remainingVector},
			"per_index":     {Run: remainingPerIndexVector},
			"ready_indexes": {Run: readyIndexesVector},
		}},
		{Name: "successpolicy", Kinds: map[string]vectors.Kind{
			"policy": {Run: successPolicyVector},
			"rule":   {Run: successRuleVector},
		}},
		{Name: "indexset_ops", Kinds: opsKinds()},
		{Name: "jobsync", Kinds: map[string]vectors.Kind{"": {Run: jobSyncVector, Normal: passOutcome}}},
	}
}

func TestVectors(t *testing.T) { vectors.Run(t, vectorFiles()) }

func TestVectorsTurnRed(t *testing.T) { vectors.TurnRed(t, vectorFiles()) }

// Each documented difference excuses a case, including differences without a recorded
// case. The case contains Kubernetes' result and must pass for the given reason.
func TestVectorsExplainDifferences(t *testing.T) {
	for _, tt := range []struct{ file, kase, reason string }{
		{"remaining", `{"id":"x","kind":"global","failures":2,"last_failure":"2009-11-10T23:00:05Z","now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":25000}`, futureFailure},
		{"remaining", `{"id":"x","kind":"global","failures":0,"last_failure":"2009-11-10T23:00:05Z","now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":0}`, ""},
		{"remaining", `{"id":"x","kind":"global","failures":2000000000,"last_failure":"2009-11-10T23:00:05Z","now":"2009-11-10T23:00:00Z","base_ms":0,"max_ms":600000,"want_ms":5000}`, futureFailure},
		{"remaining", `{"id":"x","kind":"global","failures":-1,"last_failure":"2009-11-10T23:00:05Z","now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":15000}`, negativeFailures},
		{"remaining", `{"id":"x","kind":"global","failures":-1,"last_failure":"2009-11-10T23:00:00Z","now":"2009-11-10T23:00:10Z","base_ms":10000,"max_ms":600000,"want_ms":0}`, ""},
		{"remaining", `{"id":"x","kind":"per_index","pod":{"deleted_at":"2009-11-10T23:00:05Z","deleting":true,"index_failures":"1","index_ignored_failures":"1"},"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":45000}`, futureFailure},
		{"remaining", `{"id":"x","kind":"per_index","pod":{"deleted_at":"2009-11-10T23:00:00Z","deleting":true},"now":"2009-11-10T23:00:00Z","base_ms":0,"max_ms":600000,"want_ms":0}`, noSuchEngine},
		{"remaining", `{"id":"x","kind":"ready_indexes","indexes":[1,3],"last_failed":{"1":{"deleted_at":"2009-11-10T23:00:05Z","deleting":true},"3":{"deleted_at":"2009-11-10T23:00:00Z","deleting":true,"index_failures":"1"}},"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want":{"ready":[],"wait_ms":15000}}`, futureFailure},
		{"remaining", `{"id":"x","kind":"ready_indexes","indexes":[1,3],"last_failed":{"1":{"deleted_at":"2009-11-10T23:00:05Z","deleting":true},"3":{"deleted_at":"2009-11-10T23:00:00Z","deleting":true}},"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want":{"ready":[],"wait_ms":10000}}`, ""},
		{"podfailurepolicy", `{"id":"x","fail_index_enabled":true,"policy":{"rules":[{"action":"Ignore","conditions":[{"type":"A","status":""}]}]},"pod":{"name":"p","conditions":[{"type":"A","status":"True"}]},"want":{"matched":false}}`,
			"a condition pattern without status, which the API server would have set to True"},
		{"podfailurepolicy", `{"id":"x","fail_index_enabled":true,"policy":{"rules":[{"action":"Ignore","conditions":[{"type":"A","status":""}]}]},"pod":{"name":"p","conditions":[{"type":"A","status":"False"}]},"want":{"matched":false}}`, ""},
		{"podfailurepolicy", `{"id":"x","fail_index_enabled":false,"policy":{"rules":[{"action":"FailIndex","exit_codes":{"op":"In","values":[1]}}]},"pod":{"containers":[{"state":"terminated","exit_code":1}]},"want":{"matched":false}}`,
			"FailIndex rules with the feature switched off: there is no such switch"},
		// "3,1" names 1 and 3; walked as written, the 3 is passed before the 1 is looked for.
		{"successpolicy", `{"id":"x","kind":"policy","enabled":true,"policy":{"rules":[{"indexes":"3,1"}]},"completions":5,"succeeded":[[1,1],[3,3]],"want":{"met":false,"message":""}}`, refusedIndexes},
		{"successpolicy", `{"id":"x","kind":"policy","enabled":true,"policy":{"rules":[{"indexes":"9,1"}]},"completions":5,"succeeded":[[1,1]],"want":{"met":false,"message":""}}`, refusedIndexes},
		{"successpolicy", `{"id":"x","kind":"policy","enabled":true,"policy":{"rules":[{"indexes":"3,1"}]},"completions":5,"succeeded":[[1,1]],"want":{"met":false,"message":""}}`, ""},
		{"successpolicy", `{"id":"x","kind":"rule","rule_indexes":"3,1","succeeded":[[1,1],[3,3]],"count":null,"want":false}`, refusedIndexes},
		{"successpolicy", `{"id":"x","kind":"rule","rule_indexes":"","succeeded":[[1,1]],"count":null,"want":true}`, "a rule whose indexes name none, which a policy never asks"},
		{"successpolicy", `{"id":"x","kind":"rule","rule_indexes":"1","succeeded":[[3,3],[1,1]],"count":null,"want":false}`, notASet},
		// An index that ends twice in a pass is one index, and index 0 has not ended.
		{"indexset_ops", `{"id":"x","kind":"succeeded","completions":5,"pods":[{"uid":"a","phase":"Succeeded","index":"2","tracked":true},{"uid":"b","phase":"Succeeded","index":"2","tracked":true}],"want":{"previous":"","now":"2"}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"failed","completions":5,"limit":0,"previous":"","pods":[{"uid":"a","phase":"Failed","index":"2","tracked":true},{"uid":"b","phase":"Failed","index":"2","tracked":true}],"want":"2"}`, ""},
		// Without a pod nothing has failed, matches or waits.
		{"podfailurepolicy", `{"id":"x","fail_index_enabled":true,"policy":{"rules":[{"action":"Ignore","conditions":[{"type":"A","status":""}]}]},"pod":null,"want":{"matched":false,"message":null}}`, ""},
		{"finishtime", `{"id":"x","pod":null,"want":"0001-01-01T00:00:00Z"}`, ""},
		{"remaining", `{"id":"x","kind":"per_index","pod":null,"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want_ms":0}`, ""},
		{"remaining", `{"id":"x","kind":"ready_indexes","indexes":[1,3],"last_failed":{"1":null,"3":{"deleted_at":"2009-11-10T23:00:00Z","deleting":true}},"now":"2009-11-10T23:00:00Z","base_ms":10000,"max_ms":600000,"want":{"ready":[1],"wait_ms":0}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"index_failed","limit":0,"pod":null,"want":{"pod_failed":false,"index_failed":false}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"succeeded","completions":5,"pods":[null,{"uid":"a","phase":"Succeeded","index":"2","tracked":true}],"want":{"previous":"","now":"2"}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"failed","completions":5,"limit":0,"pods":[null,{"uid":"a","phase":"Failed","index":"2","tracked":true}],"want":"2"}`, ""},
		{"indexset_ops", `{"id":"x","kind":"kept_pods","completions":5,"limit":1,"pods":[null,{"uid":"a","phase":"Failed","index":"2","tracked":true}],"want":["a"]}`, ""},
		{"indexset_ops", `{"id":"x","kind":"duplicates","completions":5,"pods":[null,{"uid":"a","phase":"Running","index":"2","tracked":true}],"want":{"keep":["a"],"remove":[]}}`, ""},
		{"indexset_ops", `{"id":"x","kind":"finished_counts","pods":[null,{"uid":"a","phase":"Failed","tracked":true}],"want":{"succeeded":0,"failed":1}}`, ""},
		{"jobsync", `{"id":"x","input":{"name":"j","spec":{"parallelism":1,"completions":1,"backoff_limit_per_index":1,"mode":"Indexed"},"pods":[null,{"uid":"a","phase":"Running","index":"0","tracked":true}]},"want":{"creates":0,"status":{"active":1}}}`, ""},
	} {
		reason, failures, err := vectors.Reason(vectorFiles(), tt.file, tt.kase)
		if err != nil {
			t.Fatal(err)
		}
		if len(failures) > 0 || reason != tt.reason {
			t.Errorf("%s\npasses for the reason %q, want %q; failures %v", tt.kase, reason, tt.reason, failures)
		}
	}
}
