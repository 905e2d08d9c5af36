package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cellserver/cellserver/config"
)

// This file makes of the tls- directives what the connections to tls-port are served by.

// TLSOptions are the tls- directives, with Redis's meanings.
type TLSOptions = config.TLSOptions

// tlsOptions returns those of a configuration, with absolute names of files.
func tlsOptions(c *Config) TLSOptions {
	options := c.TLS
	for _, name := range []*string{&options.CertFile, &options.KeyFile, &options.CACertFile, &options.CACertDir} {
		*name = c.Path(*name)
	}
	return options
}

// openSSLCiphers are the cipher suites of TLS 1.2 that may be chosen, by the names that redis.conf has for them. Those of
// TLS 1.3 can't be chosen in Go, and all are good.
var openSSLCiphers = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// loadTLS reads the files and makes the configuration of new connections.
func loadTLS(o *TLSOptions) (*tls.Config, error) {
	if o.CertFile == "" {
		return nil, errors.New("no tls-cert-file configured")
	}
	if o.KeyFile == "" {
		return nil, errors.New("no tls-key-file configured")
	}
	certificate, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("tls-cert-file or tls-key-file: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if err := tlsProtocols(o, config); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(o.Ciphers, ":") {
		if name == "" {
			continue
		}
		suite, known := openSSLCiphers[name]
		if !known {
			return nil, fmt.Errorf("tls-ciphers: %s is not among those that can be chosen", name)
		}
		config.CipherSuites = append(config.CipherSuites, suite)
	}
	return config, tlsClientAuth(o, config)
}

func tlsProtocols(o *TLSOptions, config *tls.Config) error {
	oldest, newest := uint16(tls.VersionTLS13), uint16(tls.VersionTLS12)
	for name := range strings.FieldsSeq(o.Protocols) {
		switch strings.ToLower(name) {
		case "tlsv1.2":
			oldest = tls.VersionTLS12
		case "tlsv1.3":
			newest = tls.VersionTLS13
		default:
			return fmt.Errorf("tls-protocols: %s is not TLSv1.2 or TLSv1.3", name)
		}
	}
	if oldest <= newest {
		config.MinVersion, config.MaxVersion = oldest, newest
	}
	return nil
}

// tlsClientAuth sets which certificates clients must, or may, show.
func tlsClientAuth(o *TLSOptions, config *tls.Config) error {
	if o.AuthClients == "no" {
		return nil
	}
	files := []string{}
	if o.CACertFile != "" {
		files = append(files, o.CACertFile)
	}
	if o.CACertDir != "" {
		inDir, err := filepath.Glob(filepath.Join(o.CACertDir, "*"))
		if err != nil {
			return fmt.Errorf("tls-ca-cert-dir: %w", err)
		}
		files = append(files, inDir...)
	}
	if len(files) == 0 {
		return errors.New("either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-auth-clients is enabled")
	}
	config.ClientCAs = x509.NewCertPool()
	for _, file := range files {
		pem, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("tls-ca-cert-file or tls-ca-cert-dir: %w", err)
		}
		if !config.ClientCAs.AppendCertsFromPEM(pem) && file == o.CACertFile {
			return fmt.Errorf("tls-ca-cert-file: no certificate in %s", file)
		}
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	if o.AuthClients == "optional" {
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return nil
}

// ReloadTLS reads the certificates again. Connections stay; new ones get the new certificates. With an error nothing has
// changed.
func (s *Server) ReloadTLS(options TLSOptions) error {
	config, err := loadTLS(&options)
	if err == nil {
		s.tls.Store(config)
	}
	return err
}

// ReloadCertificates reads the files of the tls- directives again, for connections made from now on. Where that fails, it says
// so in the log, and all stays as it was.
func (s *Server) ReloadCertificates() {
	config := s.config()
	if config.TLSPort == 0 {
		return
	}
	if err := s.ReloadTLS(tlsOptions(config)); err != nil {
		s.log.warning("The certificates stay as they were: %v", err)
		return
	}
	s.log.notice("The certificates are read again.")
}
