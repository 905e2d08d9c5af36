package compat_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// certificates are files in PEM: an authority's certificate, and the certificate and key of a server on loopback.
type certificates struct{ authority, certificate, key string }

// makeCertificates makes them, good for an hour.
func makeCertificates(t testing.TB) certificates {
	t.Helper()
	folder := t.TempDir()
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		}
	}
	authority, server := template("authority"), template("server")
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	server.KeyUsage, server.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.DNSNames, server.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	authorityKey, serverKey := newKey(t), newKey(t)
	sign := func(certificate *x509.Certificate, key *ecdsa.PrivateKey) []byte {
		content, err := x509.CreateCertificate(rand.Reader, certificate, authority, &key.PublicKey, authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	return certificates{
		authority:   write("authority.pem", "CERTIFICATE", sign(authority, authorityKey)),
		certificate: write("server.pem", "CERTIFICATE", sign(server, serverKey)),
		key:         write("server.key", "PRIVATE KEY", encodedKey),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
