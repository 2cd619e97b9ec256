package retry

import (
	"context"
	"errors"
	"time"

	"github.com/avast/retry-go/v4"
)

func pollAvast(ctx context.Context, done func(context.Context) (bool, error), limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return retry.Do(func() error {
		if ok, err := done(ctx); err != nil {
			return retry.Unrecoverable(err)
		} else if ok {
			return nil
		}
		return errors.New("not done yet")
	}, retry.Context(ctx), retry.UntilSucceeded(), retry.Delay(initial), retry.DelayType(retry.FixedDelay))
}
