// Command cellserver is a rate limiter that speaks Redis's protocol and answers CL.THROTTLE.
//
// It takes its configuration from a redis.conf and from the command line, in redis-server's grammar, and serves until
// SIGTERM, SIGINT or SHUTDOWN. It exits with 0 after an orderly end. If it cannot start, it says why in a line on standard
// error and exits with 1.
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

	"github.com/cellserver/cellserver/config"
	"github.com/cellserver/cellserver/server"
)

// shutdownPatience is how long clients may take to read their last replies after a signal before they are cut off. The
// sender of the signal expects an end within seconds, and a client that never reads must not prevent that.
const shutdownPatience = time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		text := "cellserver: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		var line *config.Error
		if errors.As(err, &line) { // which shows the line, as redis-server does
			text = err.Error()
		}
		fmt.Fprintln(os.Stderr, text)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "--help", "-h":
			fmt.Print(server.Usage())
			return nil
		case "check":
			return check(args[1:])
		case "--version", "-v":
			fmt.Println(server.VersionLine())
			return nil
		}
	}
	settings := server.DefaultConfig()
	if err := settings.Load(args, os.Stdin); err != nil {
		return err
	}
	if err := settings.Validate(); err != nil {
		return err
	}
	s, err := server.New(settings)
	if err != nil {
		return err
	}
	// A closed terminal is no reason to stop, as in Redis; SIGHUP asks to reload files.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			s.ReloadCertificates()
		}
	}()
	// Before Serve, which logs that it is ready: a program that reads that line may send a signal at once.
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	go endOn(ends, s)
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	select {
	case err = <-served:
		return err
	case <-s.EndRequested():
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

// endOn ends the server in order when a signal arrives. A second interrupt means that a user at a terminal insists, as
// in Redis.
func endOn(signals chan os.Signal, s *server.Server) {
	names := map[os.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT"}
	for asked := false; ; asked = true {
		received := <-signals
		if asked && received == syscall.SIGINT {
			fmt.Fprintln(os.Stderr, "cellserver: interrupted a second time, ending at once")
			os.Exit(1)
		}
		s.EndFor(names[received])
	}
}
