package compat_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A language is one folder of compat_test/clients: a program that uses one or several libraries.
type language struct {
	folder string
	tools  []string // programs that must be there
	probe  []string // a command that succeeds where Debian's package of the library is there
	pins   string   // the file that pins the versions
	// build makes the program, if there is something to make, and returns the command to which a library's name is added.
	// installed is the folder that compat_test/clients/install filled.
	build     func(t *testing.T, installed string) []string
	libraries []library
}

type library struct {
	name    string
	version string
	pin     string // what pins the version in the language's file, but for the version
	resp3   bool   // it offers both versions of the protocol
	lacks   string // the modes of access that it can't do
}

var languages = []language{
	{
		folder: "go", tools: []string{"go"}, pins: "go.mod", build: buildGo,
		libraries: []library{
			{name: "go-redis", version: "9.23.0", pin: "github.com/redis/go-redis/v9 v", resp3: true},
			{name: "rueidis", version: "1.0.79", pin: "github.com/redis/rueidis v", resp3: true},
			{name: "redigo", version: "1.9.3", pin: "github.com/gomodule/redigo v"},
		},
	},
	{
		folder: "python", pins: "requirements.txt", build: buildPython,
		libraries: []library{
			{name: "redis-py", version: "8.1.0", pin: "redis==", resp3: true},
			{name: "redis-py-asyncio", version: "8.1.0", pin: "redis==", resp3: true},
		},
	},
	{
		folder: "node", tools: []string{"node"}, pins: "package-lock.json", build: buildNode,
		libraries: []library{
			{name: "node-redis", version: "6.3.1", pin: `"redis": "`, resp3: true},
			{name: "ioredis", version: "6.0.0", pin: `"ioredis": "`, resp3: true},
		},
	},
	{
		folder: "java", tools: []string{"java", "javac"}, pins: "pom.xml", build: buildJava,
		libraries: []library{
			{name: "jedis", version: "8.0.2", pin: "<artifactId>jedis</artifactId>\n      <version>", resp3: true},
			{name: "lettuce", version: "7.7.0", pin: "<artifactId>lettuce-core</artifactId>\n      <version>", resp3: true},
			{name: "redisson", version: "4.7.0", pin: "<artifactId>redisson</artifactId>\n      <version>", resp3: true},
		},
	},
	{
		folder: "rust", tools: []string{"cargo"}, pins: "Cargo.lock", build: buildRust,
		libraries: []library{
			{name: "redis-rs", version: "1.8.1", pin: "name = \"redis\"\nversion = \"", resp3: true},
			{name: "redis-cell-rs", version: "0.3.0", pin: "name = \"redis-cell-rs\"\nversion = \"", resp3: true},
		},
	},
	{
		folder: "c", tools: []string{"gcc"}, probe: []string{"gcc", "-E", "-include", "hiredis/hiredis.h", "-x", "c", "/dev/null"},
		build:     buildC,
		libraries: []library{{name: "hiredis", version: "0.14.1", lacks: "tls"}},
	},
	{
		folder: "php", tools: []string{"php"}, build: asIs("php", "main.php"),
		probe: []string{"php", "-r", `require "Predis/Autoloader.php"; exit(extension_loaded("redis") ? 0 : 1);`},
		libraries: []library{
			{name: "phpredis", version: "5.3.7"},
			{name: "predis", version: "1.1.10", lacks: "user"},
		},
	},
	{
		folder: "ruby", tools: []string{"ruby"}, probe: []string{"ruby", "-e", `require "redis"`}, build: asIs("ruby", "main.rb"),
		libraries: []library{{name: "redis-rb", version: "4.8.0"}},
	},
}

// clientSteps are what a program prints.
var clientSteps = []string{"ok connect", "ok throttle", "ok pipeline", "ok transaction", "ok script", "restart", "ok reconnect"}

// TestClientLibraries does what applications do with the libraries that people have: compat_test/clients/README.md. Without
// CELLSERVER_HEAVY=1 it does so once per library.
func TestClientLibraries(t *testing.T) {
	files := makeCertificates(t)
	for _, language := range languages {
		t.Run(language.folder, func(t *testing.T) {
			t.Parallel()
			program := language.program(t)
			for _, library := range language.libraries {
				for _, access := range library.accesses(files) {
					t.Run(library.name+"/"+access.name, func(t *testing.T) {
						t.Parallel()
						testClient(t, append(slices.Clone(program), library.name), access)
					})
				}
			}
		})
	}
}

// TestClientVersions: the versions that the tests claim are those that are used, and those that the document names.
func TestClientVersions(t *testing.T) {
	document, err := os.ReadFile("../docs/COMPATIBILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range languages {
		var pins []byte
		if language.pins != "" {
			if pins, err = os.ReadFile(filepath.Join("clients", language.folder, language.pins)); err != nil {
				t.Fatal(err)
			}
		}
		for _, library := range language.libraries {
			if pinned := library.pin + library.version; library.pin != "" && !bytes.Contains(pins, []byte(pinned)) {
				t.Errorf("%s of %s has no %q", language.pins, language.folder, pinned)
			}
			if row := fmt.Sprintf("| %s %s |", library.name, library.version); !bytes.Contains(document, []byte(row)) {
				t.Errorf("COMPATIBILITY.md has no %q", row)
			}
		}
	}
}

// An access is a way to reach a server: what the server is told to want, and what the client is told to do.
type access struct {
	name   string
	server []string
	client []string
	tls    bool
}

// accesses are the ways that a library is tried in.
func (l library) accesses(files certificates) []access {
	defaults := access{name: "plain"}
	if !heavy {
		return []access{defaults}
	}
	const secret = "correct horse"
	requirePassword := []string{"--requirepass", secret}
	sendPassword := []string{"CELLSERVER_PASSWORD=" + secret}
	trust := []string{"CELLSERVER_CA=" + files.authority}
	encrypt := []string{
		"--tls-cert-file", files.certificate, "--tls-key-file", files.key, "--tls-ca-cert-file", files.authority,
		"--tls-auth-clients", "no",
	}
	modes := []access{
		defaults,
		{name: "password", server: requirePassword, client: sendPassword},
		{
			name:   "user",
			server: []string{"--user", "app", "on", ">" + secret, "~*", "&*", "+@all", "--user", "default", "off"},
			client: append([]string{"CELLSERVER_USER=app"}, sendPassword...),
		},
		{name: "tls", server: encrypt, client: trust, tls: true},
		{name: "tls,password", server: slices.Concat(encrypt, requirePassword), client: slices.Concat(trust, sendPassword), tls: true},
	}
	modes = slices.DeleteFunc(modes, func(mode access) bool { return l.lacks != "" && strings.HasPrefix(mode.name, l.lacks) })
	if !l.resp3 {
		return modes
	}
	all := []access{defaults}
	for _, mode := range modes {
		for _, version := range []string{"2", "3"} {
			versioned := mode
			versioned.name += "/resp" + version
			versioned.client = append(slices.Clone(mode.client), "CELLSERVER_RESP="+version)
			all = append(all, versioned)
		}
	}
	return all
}

// clientPatience is how long a program may take, with a Java that starts on a busy machine.
const clientPatience = 2 * time.Minute

// testClient runs a client's program against a server of its own, which it restarts when the program says so.
func testClient(t *testing.T, program []string, access access) {
	server := startForClient(t, access)
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	defer cancel()
	command := exec.CommandContext(ctx, program[0], program[1:]...)
	host, port, err := net.SplitHostPort(server.address)
	if err != nil {
		t.Fatal(err)
	}
	command.Env = append(os.Environ(), "CELLSERVER_HOST="+host, "CELLSERVER_PORT="+port)
	command.Env = append(command.Env, access.client...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		steps = append(steps, lines.Text())
		if lines.Text() == "restart" {
			server.restart()
			_, _ = io.WriteString(stdin, "\n") // fails only where the program has ended, which shows below
		}
	}
	if err := command.Wait(); err != nil || !slices.Equal(steps, clientSteps) {
		t.Errorf("%v after the steps %q\n%s", err, steps, &stderr)
	}
}
