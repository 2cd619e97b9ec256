package jobcontroller

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// The template of a Job is read as stored only if the API server may be newer than this
// client-go. Otherwise one question a minute replaces a request for each Job.
func TestTemplatesAreReadOnlyFromANewerServer(t *testing.T) {
	const jobs = 20
	for _, test := range []struct {
		name     string
		server   string
		known    int
		reads    int
		versions int
	}{
		{"the same version", "37", 37, 0, 1},
		{"an older server", "36", 37, 0, 1},
		{"a provider's plus sign", "37+", 37, 0, 1},
		{"a newer server", "38", 37, jobs, 1},
		{"a server that does not tell", "", 37, jobs, 1},
		{"a server that tells nonsense", "x", 37, jobs, 1},
		{"an unknown version of client-go", "37", 0, jobs, 0},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			s.minor = test.server
			c := start(t, s, Options{}, nil)
			c.apiMinor = test.known
			for i := range jobs {
				s.createJob(newJob(string(rune('a'+i)), func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(2)), new(int32(2)) }))
			}
			after(30 * time.Second)
			if n := len(s.pods()); n != 2*jobs {
				t.Errorf("%s: %d pods, want %d", test.name, n, 2*jobs)
			}
			// A worker that comes while another one asks reads the template.
			if n := s.called("GET cached jobs"); n < test.reads || n > test.reads+c.options.Workers {
				t.Errorf("%s: %d templates are read, want %d", test.name, n, test.reads)
			}
			if n := s.called("GET "); n != test.versions {
				t.Errorf("%s: the version is asked for %d times, want %d", test.name, n, test.versions)
			}
			after(2 * time.Minute)
			s.createJob(newJob("later", nil))
			after(30 * time.Second)
			if n := s.called("GET "); n != 2*test.versions {
				t.Errorf("%s: after minutes, the version was asked for %d times, want %d", test.name, n, 2*test.versions)
			}
		})
	}
}
