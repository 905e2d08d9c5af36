package server

import (
	"strings"
	"testing"
)

// A stranger is a connection from another machine.
type stranger struct {
	scripted
	refused string
}

func (t *stranger) IsUnix() bool                    { return false }
func (t *stranger) Describe() (string, string, int) { return "192.0.2.1:4000", "192.0.2.2:6379", -1 }
func (t *stranger) Refuse(reply string)             { t.refused = reply }

// TestProtectedMode: without a password only this machine is served, unless the configuration says otherwise.
func TestProtectedMode(t *testing.T) {
	s := startServer(t, nil)
	c := dial(t, s)
	connects := func() bool {
		from := &stranger{}
		admitted := s.newConn(from)
		if admitted != nil {
			admitted.loop.connections.Add(-1) // nobody serves it
		} else if !strings.HasPrefix(from.refused, "-DENIED Redis is running in protected mode because protected mode is enabled") {
			t.Errorf("refused with %q", from.refused)
		}
		return admitted != nil
	}
	for _, step := range []struct {
		command  string
		connects bool
	}{
		{"PING", false},
		{"CONFIG SET protected-mode no", true},
		{"CONFIG SET protected-mode yes", false},
		{"CONFIG SET requirepass secret", true},
		{"CONFIG SET requirepass ", false},
	} {
		c.do(strings.Split(step.command, " ")...)
		if got := connects(); got != step.connects {
			t.Errorf("after %s: a stranger connects: %v", step.command, got)
		}
	}
}
