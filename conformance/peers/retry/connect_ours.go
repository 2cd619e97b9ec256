package retry

import (
	"context"
	"database/sql"
	"errors"

	"github.com/restartkit/restart/backoff"
)

func connectOurs(ctx context.Context, db *sql.DB) error {
	return backoff.Retry(ctx, backoff.Policy{Initial: initial, Max: longest}, db.PingContext, backoff.RetryOptions{
		Attempts:  10,
		Permanent: func(err error) bool { return errors.Is(err, errPassword) },
	})
}
