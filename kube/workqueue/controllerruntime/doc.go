// Package controllerruntime shows that a workqueue.Limiter works in a controller of
// controller-runtime. It has tests only, in a module of its own, so that nobody who uses
// the Limiter has to have controller-runtime.
package controllerruntime
