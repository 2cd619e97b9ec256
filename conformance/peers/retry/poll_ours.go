package retry

import (
	"context"
	"errors"
	"time"

	"github.com/restartkit/restart/backoff"
)

func pollOurs(ctx context.Context, done func(context.Context) (bool, error), limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return backoff.Retry(ctx, backoff.Policy{Initial: initial, Max: initial}, func(ctx context.Context) error {
		if ok, err := done(ctx); err != nil || ok {
			return backoff.Permanent(err)
		}
		return errors.New("not done yet")
	})
}
