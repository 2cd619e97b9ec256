package retry

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

func pollCenkalti(ctx context.Context, done func(context.Context) (bool, error), limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := backoff.Retry(ctx, func() (any, error) {
		if ok, err := done(ctx); err != nil || ok {
			return nil, backoff.Permanent(err)
		}
		return nil, errors.New("not done yet")
	}, backoff.WithBackOff(backoff.NewConstantBackOff(initial)), backoff.WithMaxElapsedTime(0))
	return err
}
