package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/restartkit/restart/backoff"
)

func requestOurs(ctx context.Context, url string) ([]byte, error) {
	policy := backoff.Policy{Initial: initial, Max: longest, Jitter: 0.5}
	return backoff.RetryValue(ctx, policy, func(ctx context.Context) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, backoff.Permanent(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		switch err := errors.New(response.Status); {
		case response.StatusCode == http.StatusTooManyRequests:
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			return nil, errors.Join(err, backoff.RetryAfter(time.Duration(seconds)*time.Second))
		case response.StatusCode >= 500:
			return nil, err
		case response.StatusCode >= 400:
			return nil, backoff.Permanent(err)
		}
		return io.ReadAll(response.Body)
	}, backoff.RetryOptions{Attempts: 5})
}
