package resp

import (
	"strings"
	"testing"
)

func bytesOf(words ...string) (args [][]byte) {
	for _, word := range words {
		args = append(args, []byte(word))
	}
	return args
}

// repeated is 'a' times n.
func repeated(n int) string { return strings.Repeat("a", n) }

// unknownCommands are cut in all ways; TestRedisErrorTexts compares their
// errors with Redis's.
var unknownCommands = []struct {
	args []string
	want string
}{
	{[]string{"FOO"}, "'FOO', with args beginning with: "},
	{[]string{"Foo", "a", "b"}, "'Foo', with args beginning with: 'a' 'b' "},
	{[]string{"", "", ""}, "'', with args beginning with: '' '' "},
	{[]string{"FOO", "a\r\nb", "\n"}, "'FOO', with args beginning with: 'a  b' ' ' "},
	{[]string{"F\nO"}, "'F O', with args beginning with: "},
	{[]string{"F\x00O", "a\x00b", "\x00"}, "'F', with args beginning with: 'a' '' "},
	{[]string{"FOO", "\xff\x01'"}, "'FOO', with args beginning with: '\xff\x01'' "},
	{[]string{repeated(128)}, "'" + repeated(128) + "', with args beginning with: "},
	{[]string{repeated(129)}, "'" + repeated(128) + "', with args beginning with: "},
	{[]string{"FOO", repeated(128), "b"}, "'FOO', with args beginning with: '" + repeated(128) + "' "},
	{[]string{"FOO", repeated(129), "b"}, "'FOO', with args beginning with: '" + repeated(128) + "' "},
	{[]string{"FOO", repeated(125), "b"}, "'FOO', with args beginning with: '" + repeated(125) + "' "},
	{[]string{"FOO", repeated(124), "bcd", "e"}, "'FOO', with args beginning with: '" + repeated(124) + "' 'b' "},
	{[]string{"FOO", repeated(123), "bcd", "e"}, "'FOO', with args beginning with: '" + repeated(123) + "' 'bc' "},
}

func TestUnknownCommand(t *testing.T) {
	for _, test := range unknownCommands {
		var w Writer
		w.Error(UnknownCommand(bytesOf(test.args...)))
		if want := "-ERR unknown command " + test.want + "\r\n"; string(w.Buf) != want {
			t.Errorf("%q: got %q, want %q", test.args, w.Buf, want)
		}
	}
}

func TestErrorTextsOfCommands(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{UnknownSubcommand("client", []byte("Foo")), "ERR unknown subcommand 'Foo'. Try CLIENT HELP."},
		{UnknownSubcommand("client", []byte(repeated(129))), "ERR unknown subcommand '" + repeated(128) + "'. Try CLIENT HELP."},
		{UnknownSubcommand("client", []byte("a\x00b")), "ERR unknown subcommand 'a'. Try CLIENT HELP."},
		{UnknownSubcommandOrArity("debug", []byte("FOO")), "ERR unknown subcommand or wrong number of arguments for 'FOO'. Try DEBUG HELP."},
		{WrongArity("client|getname"), "ERR wrong number of arguments for 'client|getname' command"},
		{ErrTextSyntax, "ERR syntax error"},
		{ErrTextNotAnInteger, "ERR value is not an integer or out of range"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
