package server

import "testing"

// TestUsage: HELP shows arguments in the form of Redis's usage lines.
func TestUsage(t *testing.T) {
	for notation, want := range map[string]string{
		"key":                             "<key>",
		"[arg...]":                        "[<arg> [<arg> ...]]",
		"[REPLACE]":                       "[REPLACE]",
		"[MATCH pattern]":                 "[MATCH <pattern>]",
		"[PREFIX prefix]...":              "[PREFIX <prefix> [PREFIX <prefix> ...]]",
		"status=ON|OFF":                   "(ON|OFF)",
		"[condition=NX|XX]":               "[NX|XX]",
		"[expiration=EX seconds|PERSIST]": "[EX <seconds>|PERSIST]",
		"key_value={key value}...":        "<key> <value> [<key> <value> ...]",
		"[id=TYPE (NORMAL|PUBSUB)]":       "[TYPE (NORMAL|PUBSUB)]",
		"[id=ID {client-id...}]":          "[ID <client-id> [<client-id> ...]]",
		"filter=ip:port|new=([ID client-id]|[USER username])...": "(<ip:port>|([ID <client-id>]|[USER <username>]) ...)",
	} {
		argument := parseArgument(notation)
		if got := argument.usage(); got != want {
			t.Errorf("%s: %s, want %s", notation, got, want)
		}
	}
}
