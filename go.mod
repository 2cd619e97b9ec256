module github.com/restartkit/restart

go 1.25.0

require (
	github.com/google/go-cmp v0.7.0
	k8s.io/utils v0.0.0-20250604170112-4c0f3b243397
	pgregory.net/rapid v1.3.0
)
