package server

import "github.com/cellserver/cellserver/internal/glob"

// matches says whether a text fits a pattern of KEYS, SCAN, CONFIG GET or COMMAND LIST.
func matches(pattern, text []byte) bool { return glob.Match(pattern, text) }
