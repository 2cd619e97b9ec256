package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/cenkalti/backoff/v5"
)

func requestCenkalti(ctx context.Context, url string) ([]byte, error) {
	policy := backoff.NewExponentialBackOff()
	policy.InitialInterval, policy.MaxInterval = initial, longest
	return backoff.Retry(ctx, func() ([]byte, error) {
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
			return nil, errors.Join(err, backoff.RetryAfter(seconds))
		case response.StatusCode >= 500:
			return nil, err
		case response.StatusCode >= 400:
			return nil, backoff.Permanent(err)
		}
		return io.ReadAll(response.Body)
	}, backoff.WithBackOff(policy), backoff.WithMaxTries(5), backoff.WithMaxElapsedTime(0))
}
