// Package controllerruntime tests a workqueue.Limiter in a controller of
// controller-runtime. It contains only tests, in a module of its own, so that users of
// the Limiter do not depend on controller-runtime.
package controllerruntime
