package resp

const (
	// MaxInlineBytes is the longest inline command without its \n, and the
	// longest header line without its \r: Redis's 64 KiB. No honest header
	// comes near it; without it a line that never ends would fill memory.
	MaxInlineBytes = 64 << 10

	// DefaultMaxArgs is the most arguments of one command: Redis's limit up to
	// 6.2. Later versions allow 2^31-1, for which none of our commands has a use.
	DefaultMaxArgs = 1024 * 1024

	// DefaultMaxBulkBytes is the longest argument: the default of Redis's
	// proto-max-bulk-len, 512 MiB.
	DefaultMaxBulkBytes = 512 << 20

	// UnauthenticatedMaxArgs and UnauthenticatedMaxBulkBytes hold until the
	// client has authenticated, as in Redis: enough for HELLO with AUTH and
	// SETNAME, too little to make the server hold a stranger's data.
	UnauthenticatedMaxArgs      = 10
	UnauthenticatedMaxBulkBytes = 16384
)

// Limits bounds what one command may announce. MaxBulkBytes is Redis's
// proto-max-bulk-len, at most half the largest int. A whole command may still be as long as
// MaxArgs times MaxBulkBytes: the owner of the buffer bounds that
// (client-query-buffer-limit).
type Limits struct {
	MaxArgs      int // arguments of a multibulk command
	MaxBulkBytes int // bytes of one of them

	// Unauthenticated adds the two limits of the same name. Clear it when the
	// client has authenticated; it counts from the next header on, so commands
	// before AUTH must have run before the ones after it are parsed.
	Unauthenticated bool
}

// DefaultLimits returns the limits for a client that may run commands.
func DefaultLimits() Limits {
	return Limits{MaxArgs: DefaultMaxArgs, MaxBulkBytes: DefaultMaxBulkBytes}
}

// UnauthenticatedLimits returns the limits for a client that must authenticate first.
func UnauthenticatedLimits() Limits {
	limits := DefaultLimits()
	limits.Unauthenticated = true
	return limits
}

// checkArgs checks the count of a '*' header. If both limits are exceeded, Redis complains about the larger.
func (l *Limits) checkArgs(count int) error {
	switch {
	case count > l.MaxArgs:
		return errMultibulkLength
	case l.Unauthenticated && count > UnauthenticatedMaxArgs:
		return errUnauthenticatedMultibulk
	}
	return nil
}

// checkBulk checks the length of a '$' header.
func (l *Limits) checkBulk(length int) error {
	switch {
	case length < 0 || length > l.MaxBulkBytes:
		return errBulkLength
	case l.Unauthenticated && length > UnauthenticatedMaxBulkBytes:
		return errUnauthenticatedBulk
	}
	return nil
}
