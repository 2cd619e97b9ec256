package testenv

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
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// identity lets server and user trust each other, with a self-signed certificate and a
// token in files readable only by the user.
type identity struct {
	token                               string
	certificate                         []byte // PEM
	certificateFile, keyFile, tokenFile string
}

func newIdentity(dir string, now time.Time) (identity, error) {
	id := identity{
		token:           rand.Text(),
		certificateFile: filepath.Join(dir, "server.crt"),
		keyFile:         filepath.Join(dir, "server.key"),
		tokenFile:       filepath.Join(dir, "tokens.csv"),
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: "testenv"},
		NotBefore:             now.Add(-time.Hour), // for skewed clocks
		NotAfter:              now.AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:              []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return identity{}, err
	}
	id.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return identity{}, err
	}
	for file, text := range map[string][]byte{
		id.certificateFile: id.certificate,
		id.keyFile:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
		id.tokenFile:       []byte(id.token + ",testenv,testenv,system:masters\n"),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return identity{}, err
		}
	}
	return id, nil
}

func (id identity) writeKubeconfig(path, server string) error {
	config := api.NewConfig()
	config.Clusters["testenv"] = &api.Cluster{Server: server, CertificateAuthorityData: id.certificate}
	config.AuthInfos["testenv"] = &api.AuthInfo{Token: id.token}
	config.Contexts["testenv"] = &api.Context{Cluster: "testenv", AuthInfo: "testenv"}
	config.CurrentContext = "testenv"
	return clientcmd.WriteToFile(*config, path)
}
