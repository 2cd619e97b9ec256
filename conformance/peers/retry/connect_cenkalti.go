package retry

import (
	"context"
	"database/sql"
	"errors"

	"github.com/cenkalti/backoff/v5"
)

func connectCenkalti(ctx context.Context, db *sql.DB) error {
	policy := &backoff.ExponentialBackOff{InitialInterval: initial, MaxInterval: longest, Multiplier: 2}
	_, err := backoff.Retry(ctx, func() (any, error) {
		err := db.PingContext(ctx)
		if errors.Is(err, errPassword) {
			return nil, backoff.Permanent(err)
		}
		return nil, err
	}, backoff.WithBackOff(policy), backoff.WithMaxTries(10), backoff.WithMaxElapsedTime(0))
	return err
}
