package server

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An authority signs certificates for a test and keeps them in files.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", nil)
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// sign makes name.crt and name.key, signed by the authority, or by itself where it is the authority's own.
func (a *authority) sign(name string, parent *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: parent == nil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer := a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".crt", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", keyDER)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) write(name, kind string, der []byte) {
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// options are for a server with the certificate of that name.
func (a *authority) options(name, authClients string) TLSOptions {
	return TLSOptions{CertFile: a.file(name + ".crt"), KeyFile: a.file(name + ".key"), CACertFile: a.file("ca.crt"), AuthClients: authClients}
}

// dialTLS connects, with a client certificate where one is named, and returns the handshake's or the first ping's error.
func (a *authority) dialTLS(s *Server, clientCert string, maxVersion uint16) (*client, *tls.Conn, error) {
	config := &tls.Config{RootCAs: x509.NewCertPool(), MaxVersion: maxVersion}
	config.RootCAs.AddCert(a.cert)
	if clientCert != "" {
		pair, err := tls.LoadX509KeyPair(a.file(clientCert+".crt"), a.file(clientCert+".key"))
		if err != nil {
			a.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	tc, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.config().TLSPort), config)
	if err != nil {
		return nil, nil, err
	}
	a.t.Cleanup(func() { tc.Close() })
	c := &client{t: a.t, Conn: tc, in: bufio.NewReader(tc)}
	if err := tc.SetDeadline(time.Now().Add(patience)); err != nil {
		a.t.Fatal(err)
	}
	c.send(encode("PING"))
	_, err = readReply(c.in)
	return c, tc, err
}

func startTLS(t *testing.T, configure func(*Config), options TLSOptions) *Server {
	return startServer(t, func(c *Config) {
		if configure != nil {
			configure(c)
		}
		c.TLSPort, c.TLS = freePort(t), options
	})
}

// TestTLSServesCommands: everything works as without, beside connections without.
func TestTLSServesCommands(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", a.cert)
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startTLS(t, configure, a.options("server", "no"))
		plain := dial(t, s)
		c, _, err := a.dialTLS(s, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.run("CL.THROTTLE user123 15 30 60"); got != "[0 16 15 -1 2]" {
			t.Error(got)
		}
		if got := plain.run("CL.THROTTLE user123 15 30 60"); got != "[0 16 14 -1 4]" {
			t.Error(got)
		}
		long := strings.Repeat("x", 3<<20)
		if got := c.do("ECHO", long); got != fmt.Sprintf("%q", long) {
			t.Errorf("ECHO of 3 MiB came back with %d bytes", len(got))
		}
		const calls = 5000
		c.send(strings.Repeat(encode("CL.THROTTLE", "k", "10", "1", "1", "0"), calls) + encode("QUIT"))
		for range calls {
			if got := c.reply(); got != "[0 11 11 -1 0]" {
				t.Fatal(got)
			}
		}
		if got := c.reply(); got != "OK" {
			t.Error(got)
		}
		c.closed()
	})
}

// TestTLSClientCertificates goes through tls-auth-clients.
func TestTLSClientCertificates(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	ours.sign("server", ours.cert)
	ours.sign("client", ours.cert)
	theirs.sign("stranger", theirs.cert)
	for _, name := range []string{"stranger.crt", "stranger.key"} {
		if err := os.Rename(theirs.file(name), ours.file(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		authClients, certificate string
		served                   bool
	}{
		{"yes", "client", true}, {"yes", "", false}, {"yes", "stranger", false},
		{"optional", "client", true}, {"optional", "", true}, {"optional", "stranger", false},
		{"no", "client", true}, {"no", "", true}, {"no", "stranger", true},
	} {
		s := startTLS(t, nil, ours.options("server", test.authClients))
		_, _, err := ours.dialTLS(s, test.certificate, 0)
		if (err == nil) != test.served {
			t.Errorf("tls-auth-clients %s, certificate %q: %v", test.authClients, test.certificate, err)
		}
	}
}

func TestTLSProtocols(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", a.cert)
	for _, test := range []struct {
		protocols, ciphers string
		client             uint16
		served             bool
	}{
		{"", "", tls.VersionTLS12, true}, {"", "", tls.VersionTLS13, true}, {"", "", tls.VersionTLS11, false},
		{"TLSv1.3", "", tls.VersionTLS12, false}, {"TLSv1.3", "", tls.VersionTLS13, true},
		{"TLSv1.2", "", tls.VersionTLS13, true}, {"TLSv1.2 TLSv1.3", "", tls.VersionTLS12, true},
		{"TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384", tls.VersionTLS12, true},
		{"TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384", tls.VersionTLS12, false}, // the key is an ECDSA key
	} {
		options := a.options("server", "no")
		options.Protocols, options.Ciphers = test.protocols, test.ciphers
		if _, _, err := a.dialTLS(startTLS(t, nil, options), "", test.client); (err == nil) != test.served {
			t.Errorf("%q, %q, client up to %x: %v", test.protocols, test.ciphers, test.client, err)
		}
	}
}

// TestTLSReload: new connections get the new certificate, old ones go on, and a bad file changes nothing.
func TestTLSReload(t *testing.T) {
	a := newAuthority(t)
	a.sign("old", a.cert)
	a.sign("new", a.cert)
	s := startTLS(t, nil, a.options("old", "no"))
	names := func(want string) *client {
		t.Helper()
		c, tc, err := a.dialTLS(s, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.ConnectionState().PeerCertificates[0].Subject.CommonName; got != want {
			t.Errorf("the certificate is of %s, want %s", got, want)
		}
		return c
	}
	before := names("old")
	if err := s.ReloadTLS(a.options("nosuch", "no")); err == nil {
		t.Error("no error for a missing file")
	}
	names("old")
	if err := s.ReloadTLS(a.options("new", "no")); err != nil {
		t.Error(err)
	}
	names("new")
	if got := before.run("PING"); got != "PONG" {
		t.Error(got)
	}
}

func TestTLSOptionsThatCannotBe(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", a.cert)
	good := a.options("server", "yes")
	for _, test := range []struct {
		spoil func(o *TLSOptions)
		want  string
	}{
		{func(o *TLSOptions) { o.CertFile = "" }, "tls-cert-file"},
		{func(o *TLSOptions) { o.KeyFile = "" }, "tls-key-file"},
		{func(o *TLSOptions) { o.KeyFile = a.file("ca.key") }, "tls-key-file"},
		{func(o *TLSOptions) { o.CACertFile = "" }, "tls-ca-cert"},
		{func(o *TLSOptions) { o.CACertFile = a.file("server.key") }, "no certificate"},
		{func(o *TLSOptions) { o.Protocols = "TLSv1.1" }, "tls-protocols"},
		{func(o *TLSOptions) { o.Ciphers = "RC4" }, "tls-ciphers"},
	} {
		options := good
		test.spoil(&options)
		if _, err := loadTLS(&options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want something about %s", err, test.want)
		}
	}
	byDir := good
	byDir.CACertFile, byDir.CACertDir = "", a.dir
	if _, err := loadTLS(&byDir); err != nil {
		t.Error("tls-ca-cert-dir:", err)
	}
}

// TestHandshakesCountAgainstMaxClients: clients that never finish their handshake take no more room than others.
func TestHandshakesCountAgainstMaxClients(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", a.cert)
	s := startServer(t, func(c *Config) {
		c.TLSPort, c.TLS, c.MaxClients = freePort(t), a.options("server", "no"), 3
	})
	address := fmt.Sprintf("127.0.0.1:%d", s.config().TLSPort)
	for range 3 {
		dialTo(t, "tcp", address)
	}
	eventually(t, "three handshakes are under way", func() bool { return s.handshakes.UnderWay() == 3 })
	dialTo(t, "tcp", address).closed()
}
