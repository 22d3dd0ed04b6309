// Package certtest makes certificates for tests: of an authority, of a server on loopback, and of a client.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files are the paths of PEM files. Of the certificates, each with its key, Server is for localhost and 127.0.0.1,
// Named for the name "server.test" alone; CA has signed all, and Other is an authority that has signed none.
type Files struct {
	CA, Other         string
	Server, ServerKey string
	Named, NamedKey   string
	Client, ClientKey string
	Broken            string // a file without PEM

	ca                       *x509.Certificate
	caKey                    *ecdsa.PrivateKey
	serial                   int64
	serverAlone, namedServer tls.Certificate
}

// Make makes the files in a folder: ca.pem, other.pem, server.pem, server.key, named.pem, named.key, client.pem,
// client.key and broken.pem.
func Make(dir string) (*Files, error) {
	at := func(name string) string { return filepath.Join(dir, name) }
	f := &Files{CA: at("ca.pem"), Other: at("other.pem"), Server: at("server.pem"), ServerKey: at("server.key"),
		Named: at("named.pem"), NamedKey: at("named.key"), Client: at("client.pem"), ClientKey: at("client.key"),
		Broken: at("broken.pem")}
	if err := os.WriteFile(f.Broken, []byte("no certificate\n"), 0o600); err != nil {
		return nil, err
	}
	for _, path := range []string{f.Other, f.CA} { // the last one signs
		if err := f.makeAuthority(path); err != nil {
			return nil, err
		}
	}
	var err error
	loopback := &x509.Certificate{DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if f.serverAlone, err = f.signCertificate(loopback, f.Server, f.ServerKey); err != nil {
		return nil, err
	}
	named := &x509.Certificate{DNSNames: []string{"server.test"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if f.namedServer, err = f.signCertificate(named, f.Named, f.NamedKey); err != nil {
		return nil, err
	}
	_, err = f.signCertificate(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, f.Client,
		f.ClientKey)
	return f, err
}

// ServerTLS returns the TLS of the server, which asks for a client's certificate if demand is set.
func (f *Files) ServerTLS(demand bool) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{f.serverAlone}}
	if demand {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, f.Pool()
	}
	return c
}

// NamedTLS returns the TLS of the server whose certificate is for server.test alone.
func (f *Files) NamedTLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{f.namedServer}}
}

// Pool has the authority.
func (f *Files) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(f.ca)
	return pool
}

func (f *Files) makeAuthority(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := f.makeTemplate(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	if f.ca, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	f.caKey = key
	return write(path, "CERTIFICATE", der)
}

func (f *Files) makeTemplate(c *x509.Certificate) *x509.Certificate {
	f.serial++
	c.SerialNumber, c.Subject = big.NewInt(f.serial), pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	return c
}

func (f *Files) signCertificate(c *x509.Certificate, cert, keyPath string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, f.makeTemplate(c), f.ca, &key.PublicKey, f.caKey)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := write(cert, "CERTIFICATE", der); err != nil {
		return tls.Certificate{}, err
	}
	if err := write(keyPath, "PRIVATE KEY", private); err != nil {
		return tls.Certificate{}, err
	}
	return tls.LoadX509KeyPair(cert, keyPath)
}

func write(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
