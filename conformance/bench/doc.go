// Package bench measures this library beside the code that it replaces. A benchmark has a
// sub-benchmark for this library, impl=restart, and one for each of its peers, such as
// impl=client-go, so that benchstat prints them side by side:
//
//	go -C conformance test ./bench -run '^$' -bench . -count 6 -timeout 30m | tee bench.txt
//	benchstat -table .name -col /impl bench.txt
//
// The tests check that the peers whose code is written here compute the same.
package bench
