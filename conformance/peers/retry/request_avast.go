package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/avast/retry-go/v4"
)

type retryAfter struct {
	error
	delay time.Duration
}

func requestAvast(ctx context.Context, url string) ([]byte, error) {
	delay := func(n uint, err error, config *retry.Config) time.Duration {
		if after, ok := errors.AsType[retryAfter](err); ok {
			return after.delay
		}
		return min(retry.FullJitterBackoffDelay(n, err, config), longest)
	}
	return retry.DoWithData(func() ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, retry.Unrecoverable(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		switch err := errors.New(response.Status); {
		case response.StatusCode == http.StatusTooManyRequests:
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			return nil, retryAfter{err, time.Duration(seconds) * time.Second}
		case response.StatusCode >= 500:
			return nil, err
		case response.StatusCode >= 400:
			return nil, retry.Unrecoverable(err)
		}
		return io.ReadAll(response.Body)
	}, retry.Context(ctx), retry.Attempts(5), retry.Delay(initial), retry.DelayType(delay))
}
