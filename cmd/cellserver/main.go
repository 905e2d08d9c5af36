// Command cellserver is a rate limiter that speaks Redis's protocol and answers CL.THROTTLE.
//
// It takes its configuration from the command line in redis-server's grammar, serves until SIGTERM or SIGINT, and exits
// with 0 after an orderly end and with 1, after one line that says why, where it cannot start.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cellserver/cellserver/server"
)

// shutdownPatience is how long clients may take to read their last replies after a signal before they are cut. Whoever
// sent the signal expects an end within seconds, and one client that never reads must not be in the way.
const shutdownPatience = time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cellserver:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "--help", "-h":
			fmt.Print(server.Usage())
			return nil
		case "--version", "-v":
			fmt.Println("cellserver", server.Version)
			return nil
		}
	}
	config := server.DefaultConfig()
	if err := config.ParseArgs(args); err != nil {
		return err
	}
	if err := config.Validate(); err != nil {
		return err
	}
	s, err := server.New(config)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGHUP) // as Redis does: a closed terminal is no reason to stop
	// Before the banner: whoever reads that may send a signal at once.
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	fmt.Println(s.Banner())
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	select {
	case err = <-served:
		return err
	case <-stop.Done():
	}
	patience, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	// Cutting clients that don't read is an orderly end too.
	if err := s.Shutdown(patience); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if err := <-served; !errors.Is(err, server.ErrServerClosed) {
		return err
	}
	return nil
}
