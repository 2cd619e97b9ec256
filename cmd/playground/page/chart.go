package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// pictures draws the restarts of one pod, and the requests of all pods of a node to the
// API server. Both fit on a screen, one above the other.
func (s Settings) pictures(all []chart.Curve, window time.Duration, width float64) []*Picture {
	figure := chart.Figure{Width: width, Curves: all, End: window}
	height := min(max(width*0.4, 150), 300)
	restarts := chart.Panel{Title: "restarts", Height: height, Whole: true}
	requests := chart.Panel{Title: "requests per second, " + figure.Averaged(), Height: height}
	var desc strings.Builder
	fmt.Fprintf(&desc, "Restarts of a pod that fails after runs of %s, up to %s.", s.Run, picture.Duration(window))
	for _, c := range all {
		restarts.Lines = append(restarts.Lines, figure.Counts(c.PerPod()))
		requests.Lines = append(requests.Lines, figure.Rates(c, c.Requests(s.Requests)))
		fmt.Fprintf(&desc, " %s: %s.", c.Name, picture.Number(c.PerPod().Restarts(-1, window)))
	}
	draw := func(title, desc, prefix string, panel chart.Panel) *Picture {
		figure.Title, figure.Desc, figure.Panels = title, desc, []chart.Panel{panel}
		return drawn(figure.Draw(), prefix)
	}
	return []*Picture{
		draw("Restarts of one pod", desc.String(), "restarts", restarts),
		draw("Requests per second of the node", fmt.Sprintf("%d pods that fail at the same times, %s for each restart, %s.",
			s.Pods, count(s.Requests, "request"), figure.Averaged()), "requests", requests),
	}
}
