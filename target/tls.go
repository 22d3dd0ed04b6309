package target

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"parley/internal/input"
)

// TLS says which certificate of the target the harness accepts, and which one it presents itself. Paths are relative
// to the profile. Nil, or all empty: Go's defaults, which accept what the system's authorities have signed for the host
// in the URL.
type TLS struct {
	CA         string `yaml:"ca"`          // PEM file of the only authorities that are trusted
	Cert       string `yaml:"cert"`        // PEM file of the harness's own certificate
	Key        string `yaml:"key"`         // PEM file of its key
	Insecure   bool   `yaml:"insecure"`    // any certificate is accepted; such results never certify
	ServerName string `yaml:"server_name"` // name that is asked for and checked; default the host in the URL
}

// TLSError is a mistake in a TLS. Key is that of the profile, such as "ca".
type TLSError struct{ Key, Msg, Mend string }

func (e *TLSError) Error() string {
	if e.Mend == "" {
		return e.Key + ": " + e.Msg
	}
	return fmt.Sprintf("%s: %s (%s)", e.Key, e.Msg, e.Mend)
}

// maxPEM bounds a file of certificates; the bundles of systems have some hundred KiB.
const maxPEM = 8 << 20

// Config reads the files, which are relative to a folder. The error is a *TLSError.
func (t TLS) Config(dir string) (*tls.Config, error) {
	if t.Insecure && t.CA != "" {
		return nil, &TLSError{"ca", "no certificate is checked with insecure", "leave one out"}
	}
	if strings.ContainsAny(t.ServerName, ":/ ") && net.ParseIP(t.ServerName) == nil {
		return nil, &TLSError{"server_name", fmt.Sprintf("%q is not the name of a host", t.ServerName),
			"write it like example.org, without a port"}
	}
	c := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.Insecure}
	if t.CA != "" {
		text, err := readPEM("ca", t.CA, dir)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, &TLSError{"ca", t.CA + " has no certificate in PEM",
				"convert a DER file: openssl x509 -inform der -in FILE -out ca.pem"}
		}
	}
	pair, err := t.readKeyPair(dir)
	if pair != nil {
		c.Certificates = []tls.Certificate{*pair}
	}
	return c, err
}

// readKeyPair reads the harness's own certificate; nil if there is none.
func (t TLS) readKeyPair(dir string) (*tls.Certificate, error) {
	switch {
	case t.Cert == "" && t.Key == "":
		return nil, nil
	case t.Key == "":
		return nil, &TLSError{"cert", "there is no key to this certificate", "name its PEM file by key"}
	case t.Cert == "":
		return nil, &TLSError{"key", "there is no certificate to this key", "name its PEM file by cert"}
	}
	cert, err := readPEM("cert", t.Cert, dir)
	if err != nil {
		return nil, err
	}
	key, err := readPEM("key", t.Key, dir)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(cert)
	if block == nil {
		return nil, &TLSError{"cert", t.Cert + " has no certificate in PEM",
			"convert a DER file: openssl x509 -inform der -in FILE -out cert.pem"}
	}
	switch block, _ := pem.Decode(key); {
	case block == nil:
		return nil, &TLSError{"key", t.Key + " has no key in PEM",
			"convert a DER file: openssl pkey -inform der -in FILE -out key.pem"}
	case strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "":
		return nil, &TLSError{"key", t.Key + " is encrypted", "decrypt it: openssl pkey -in FILE -out key.pem"}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, &TLSError{"key",
			fmt.Sprintf("%s and %s do not make a pair: %s", t.Cert, t.Key, whyUnpaired(cert, key, err)),
			"name a certificate and its own key"}
	}
	return &pair, nil
}

// whyUnpaired says why a certificate and a key do not make a pair.
func whyUnpaired(cert, key []byte, err error) string {
	switch {
	case !bytes.Contains(cert, []byte("BEGIN CERTIFICATE")):
		return "the first has no certificate"
	case !bytes.Contains(key, []byte("PRIVATE KEY-----")):
		return "the second has no private key"
	case strings.Contains(err.Error(), "does not match"):
		return "the key is that of another certificate"
	}
	return strings.NewReplacer("tls: ", "", "x509: ", "", "asn1: ", "").Replace(err.Error())
}

// Pair reads a certificate and its key for a server. The error is a *TLSError.
func Pair(cert, key string) (tls.Certificate, error) {
	pair, err := TLS{Cert: cert, Key: key}.readKeyPair("")
	if err != nil {
		return tls.Certificate{}, err
	}
	return *pair, nil
}

func readPEM(key, name, dir string) ([]byte, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	b, err := input.Read(path, maxPEM)
	if err != nil {
		return nil, &TLSError{key, fmt.Sprintf("%s cannot be read: %v", name, Reason(err)), "name a PEM file"}
	}
	return b, nil
}

// TLSConfig returns how the harness speaks TLS with the target; nil for Go's defaults. It must not be changed.
func (p *Profile) TLSConfig() *tls.Config { return p.tls }

// Insecure reports whether no certificate of the target is checked.
func (p *Profile) Insecure() bool {
	return p.TLS != nil && p.TLS.Insecure && strings.HasPrefix(p.URL, "https:")
}

// UseTLS sets what is not empty of t besides, or instead of, what the profile has; CA and Insecure replace each other.
// Relative paths of t are relative to the working directory. The error is a *TLSError. Call it before the profile is
// used.
func (p *Profile) UseTLS(t TLS) error {
	var all TLS
	if p.TLS != nil {
		all = *p.TLS
	}
	for _, path := range []struct {
		from string
		to   *string
	}{{t.CA, &all.CA}, {t.Cert, &all.Cert}, {t.Key, &all.Key}} {
		if path.from == "" {
			continue
		}
		abs, err := filepath.Abs(path.from)
		if err != nil {
			return &TLSError{"ca", err.Error(), ""}
		}
		*path.to = abs
	}
	switch {
	case t.Insecure && t.CA == "":
		all.Insecure, all.CA = true, ""
	case t.Insecure:
		all.Insecure = true
	case t.CA != "":
		all.Insecure = false
	}
	if t.ServerName != "" {
		all.ServerName = t.ServerName
	}
	return p.settleTLS(all)
}

// settleTLS checks and reads a TLS, and gives it to the profile. The error is a *TLSError.
func (p *Profile) settleTLS(t TLS) error {
	if why := p.Undialled(); why != "" {
		return &TLSError{"", why, "leave it out"}
	}
	if p.URL != "" && !strings.HasPrefix(p.URL, "https:") {
		return &TLSError{"", "the target at " + p.URL + " does not speak TLS", "give an https URL"}
	}
	for _, d := range p.Drivers {
		if d != Browser {
			continue
		}
		switch {
		case t.Cert != "" || t.Key != "":
			return &TLSError{"cert", "the browser that opens the page cannot present a certificate", "leave it out"}
		case t.ServerName != "":
			return &TLSError{"server_name", "the browser takes the name from the URL", "leave it out"}
		}
	}
	conf, err := t.Config(p.Dir)
	if err != nil {
		return err
	}
	p.TLS, p.tls = &t, conf
	return nil
}

// Undialled says why the harness opens no connection to the target; "" if it does.
func (p *Profile) Undialled() string {
	switch {
	case p.Dials():
		return "the target connects to the harness, which sends it no requests"
	case p.PipesOnly():
		return "the target is reached by its stdin and stdout, not over a network"
	case p.Reach().Served:
		return "the harness serves the page itself, on loopback"
	}
	return ""
}
