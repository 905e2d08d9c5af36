package resp

import (
	"bytes"
	"strings"
)

// Texts for [Writer.Error] that every command needs, in Redis 7.0's words.
// Bytes that came from the client may hold \r and \n: Error takes them out.
const (
	ErrTextSyntax       = "ERR syntax error"
	ErrTextNotAnInteger = "ERR value is not an integer or out of range"
)

const errTextUnknownInScript = "ERR Unknown Redis command called from script"

// maxQuotedBytes is how much of what a client sent an error repeats: of a
// command's or subcommand's name, and of all other arguments together.
const maxQuotedBytes = 128

// UnknownCommand is the error for a command whose name, args[0], is not known.
// As in Redis the last argument is cut, not its quotes: with them the list may
// be 3 bytes longer than maxQuotedBytes.
func UnknownCommand(args [][]byte) string {
	var list []byte
	for _, arg := range args[1:] {
		if len(list) >= maxQuotedBytes {
			break
		}
		room := maxQuotedBytes - len(list)
		list = append(list, '\'')
		list = append(list, cut(arg, room)...)
		list = append(list, "' "...)
	}
	return "ERR unknown command '" + string(cut(args[0], maxQuotedBytes)) +
		"', with args beginning with: " + string(list)
}

// UnknownInScript is UnknownCommand for a command that a script calls. Redis's
// text ends before the colon, and tells no name.
func UnknownInScript(name []byte) string {
	return errTextUnknownInScript + ": '" + string(cut(name, maxQuotedBytes)) + "' (cellserver holds limiter keys only)"
}

// UnknownSubcommandInScript is UnknownInScript where only the subcommand is not
// known.
func UnknownSubcommandInScript(container string, subcommand []byte) string {
	return errTextUnknownInScript + ": '" + strings.ToUpper(container) + " " + string(cut(subcommand, maxQuotedBytes)) + "'"
}

// UnknownSubcommand is the error for a subcommand that the container, such as
// client, does not have.
func UnknownSubcommand(container string, subcommand []byte) string {
	return "ERR unknown subcommand '" + string(cut(subcommand, maxQuotedBytes)) +
		"'. Try " + strings.ToUpper(container) + " HELP."
}

// UnknownSubcommandOrArity is UnknownSubcommand for a container that parses its
// subcommands itself, such as debug.
func UnknownSubcommandOrArity(container string, subcommand []byte) string {
	return "ERR unknown subcommand or wrong number of arguments for '" +
		string(cut(subcommand, maxQuotedBytes)) + "'. Try " + strings.ToUpper(container) + " HELP."
}

// WrongArity is the error for a command with too few or too many arguments.
// The name is the one in the command table, lower case: get, client|getname.
func WrongArity(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// cut returns the part of an argument that an error shows: to a zero byte,
// where Redis takes it to end, and at most n bytes.
func cut(arg []byte, n int) []byte {
	arg = arg[:min(len(arg), n)]
	if zero := bytes.IndexByte(arg, 0); zero >= 0 {
		arg = arg[:zero]
	}
	return arg
}
