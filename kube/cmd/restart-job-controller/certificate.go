package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// tlsConfig returns the configuration of a server with the certificate in the files or,
// without files, a self-signed one. Files are read at every handshake, so a renewed
// certificate is used at once.
func tlsConfig(certFile, keyFile string, now time.Time) (*tls.Config, error) {
	if certFile == "" {
		certificate, err := selfSigned(now)
		if err != nil {
			return nil, fmt.Errorf("making a certificate: %w", err)
		}
		return &tls.Config{Certificates: []tls.Certificate{certificate}}, nil
	}
	read := func() (*tls.Certificate, error) {
		certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("-tls-cert-file: %w", err)
		}
		return &certificate, nil
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return read() }}, nil
}

// selfSigned creates a certificate valid for ten years, longer than any process lives.
func selfSigned(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "restart-job-controller"},
		DNSNames:     []string{"restart-job-controller"},
		NotBefore:    now.Add(-time.Hour), // for skewed clocks
		NotAfter:     now.AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
