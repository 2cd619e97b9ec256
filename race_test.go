//go:build race

package restart_test

const raceDetector = true
