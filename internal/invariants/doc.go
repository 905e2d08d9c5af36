// Package invariants says whether the program was built to check itself.
//
// Under the build tag "invariants" (go test -tags invariants ./...) packages verify their own structures after every
// change and scramble memory they give up, so that a broken rule fails where it is broken and not a thousand calls
// later. Without the tag Enabled is the constant false, and the compiler removes the checks.
package invariants
