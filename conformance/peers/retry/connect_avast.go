package retry

import (
	"context"
	"database/sql"
	"errors"

	"github.com/avast/retry-go/v4"
)

func connectAvast(ctx context.Context, db *sql.DB) error {
	return retry.Do(func() error { return db.PingContext(ctx) },
		retry.Context(ctx), retry.Attempts(10), retry.Delay(initial), retry.MaxDelay(longest),
		retry.DelayType(retry.BackOffDelay),
		retry.RetryIf(func(err error) bool { return !errors.Is(err, errPassword) }))
}
