package recorded

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"

	"github.com/restartkit/restart/internal/vectors"
)

func TestMain(m *testing.M) {
	runtime.ErrorHandlers = nil // they log the errors of the controller, which some cases want
	m.Run()
}

func TestKubernetesDecidesAsRecorded(t *testing.T) { vectors.Run(t, files()) }

// A wrong outcome would be noticed.
func TestComparisonTurnsRed(t *testing.T) { vectors.TurnRed(t, files()) }
