package statuscache_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/restartkit/restart/pleg/statuscache"
)

// A snapshot, changes and a deletion. A key that came and went while the loop slept is
// not yielded.
func TestWatchSkipsKeysThatCameAndWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(statuscache.Options[string]{})
		c.Set("a", "1", nil, t1)
		var seen []string
		gate, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for key, e := range c.Watch(t.Context()) {
				seen = append(seen, fmt.Sprint(key, e.Status, e.Present))
				<-gate
			}
		}()
		synctest.Wait()
		c.Set("b", "1", nil, t2)
		c.Set("b", "2", nil, t3)
		c.Set("c", "1", nil, t3)
		c.Delete("c", t4)
		c.Delete("a", t4)
		close(gate)
		synctest.Wait()
		c.Delete("b", t5)
		c.Set("b", "3", nil, t6)
		c.Set("d", "1", nil, t6)
		c.Close()
		<-ended
		if got, want := strings.Join(seen, " "), "a1true b2true afalse b3true d1true"; got != want {
			t.Errorf("seen %s\nwant %s", got, want)
		}
		for range c.Watch(t.Context()) {
			break
		}
		if _, _, n := c.Held(); n != 0 {
			t.Errorf("%d loops left behind", n)
		}
	})
}
