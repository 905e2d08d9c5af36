// Command go takes the steps of compat_test/clients/README.md with the Go library that its argument names: go-redis, rueidis
// or redigo. Each has a file that says how an application calls it.
//
// It is a module of its own, so that cellserver's does not require these libraries.
package main
