package target

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/certtest"
)

// TestTLS: what a profile says of TLS is read, and each mistake names its key and how to mend it.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	if _, err := certtest.Make(dir); err != nil {
		t.Fatal(err)
	}
	sealed := "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
	if err := os.WriteFile(filepath.Join(dir, "sealed.key"), []byte(sealed), 0o600); err != nil {
		t.Fatal(err)
	}
	const own = "cert: client.pem, key: client.key"
	for _, tt := range []struct {
		name, tls, rest, want string // want: the error; "": none
	}{
		{"nothing", "{}", "", ""},
		{"authority", "{ca: ca.pem}", "", ""},
		{"certificate", "{" + own + "}", "", ""},
		{"name", "{ca: ca.pem, server_name: server.test}", "", ""},
		{"unchecked", "{insecure: true}", "", ""},
		{"of a command", "{ca: ca.pem}", "command: {run: [x]}", ""},

		{"no file", "{ca: none.pem}", "",
			"t.yaml:3:11: tls.ca: none.pem cannot be read: no such file or directory (name a PEM file)"},
		{"no certificate", "{ca: broken.pem}", "",
			"tls.ca: broken.pem has no certificate in PEM (convert a DER file: openssl"},
		{"both", "{ca: ca.pem, insecure: true}", "", "tls.ca: no certificate is checked with insecure (leave one out)"},
		{"key alone", "{key: client.key}", "", "tls.key: there is no certificate to this key (name its PEM file by cert)"},
		{"cert alone", "{cert: client.pem}", "", "tls.cert: there is no key to this certificate (name its PEM file by key)"},
		{"broken cert", "{cert: broken.pem, key: client.key}", "", "tls.cert: broken.pem has no certificate in PEM"},
		{"broken key", "{cert: client.pem, key: broken.pem}", "", "tls.key: broken.pem has no key in PEM"},
		{"no key file", "{cert: client.pem, key: none.key}", "", "tls.key: none.key cannot be read"},
		{"encrypted", "{cert: client.pem, key: sealed.key}", "", "tls.key: sealed.key is encrypted (decrypt it: openssl"},
		{"another's key", "{cert: client.pem, key: server.key}", "",
			"tls.key: client.pem and server.key do not make a pair: the key is that of another certificate (name"},
		{"a port", "{server_name: 'server.test:443'}", "", `tls.server_name: "server.test:443" is not the name of a host`},
		{"unknown", "{cacert: ca.pem}", "", `tls: unknown key "cacert"`},
		{"plain", "{ca: ca.pem}", "url: http://localhost:1",
			"tls: the target at http://localhost:1 does not speak TLS (give an"},
		{"agent", "{ca: ca.pem}", "protocol: dialling\nrole: agent\ncommand: {run: [x]}",
			"tls: the target connects to the harness, which sends it no requests (leave it out)"},
		{"stdio", "{ca: ca.pem}", "protocol: piping\ndrivers: [stdio]\ncommand: {run: [x]}",
			"tls: the target is reached by its stdin and stdout, not over a network (leave it out)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "name: x\n#\ntls: " + tt.tls + "\n" + tt.rest + "\n"
			if !strings.Contains(tt.rest, "url:") && !strings.Contains(tt.rest, "protocol:") {
				text += "url: https://localhost:1\n"
			}
			p, err := toys.ParseIn([]byte(text), "t.yaml", dir, nil)
			var mistake *ProfileError
			switch {
			case tt.want == "" && (err != nil || p.TLSConfig() == nil):
				t.Errorf("%s: %v", text, err)
			case tt.want != "" && (!errors.As(err, &mistake) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%s: %v, want %s", text, err, tt.want)
			}
		})
	}
}

// TestUseTLS: flags come beside what the profile says, and an authority and the lack of any check replace each other.
func TestUseTLS(t *testing.T) {
	dir := t.TempDir()
	f, err := certtest.Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	load := func(tls string) *Profile {
		p, err := toys.ParseIn([]byte("url: https://localhost:1\ntls: "+tls+"\n"), "t.yaml", dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := load("{ca: other.pem, server_name: server.test}")
	if err := p.UseTLS(TLS{CA: f.CA, Cert: f.Client, Key: f.ClientKey}); err != nil {
		t.Fatal(err)
	}
	if c := p.TLSConfig(); c.ServerName != "server.test" || !c.RootCAs.Equal(f.Pool()) || len(c.Certificates) != 1 {
		t.Errorf("with an authority: %+v", p.TLS)
	}
	if err := p.UseTLS(TLS{Insecure: true}); err != nil || !p.Insecure() || p.TLSConfig().RootCAs != nil {
		t.Errorf("insecure: %+v, %v", p.TLS, err)
	}
	if err := p.UseTLS(TLS{CA: f.CA}); err != nil || p.Insecure() || p.TLSConfig().RootCAs == nil {
		t.Errorf("secure again: %+v, %v", p.TLS, err)
	}
	var wrong *TLSError
	if err := p.UseTLS(TLS{CA: f.CA, Insecure: true}); !errors.As(err, &wrong) || wrong.Key != "ca" {
		t.Errorf("both: %v", err)
	}
	if p := toys[0].New(); p.TLSConfig() != (*tls.Config)(nil) || p.Insecure() {
		t.Error("a profile has TLS that nobody asked for")
	}
}

// TestEmptyModel: a command may take the address of the model stub from its environment by itself.
func TestEmptyModel(t *testing.T) {
	for text, want := range map[string]bool{"command: {run: [x]}\nmodel: {}\n": true, "command: {run: [x]}\n": false} {
		p, err := toys.Parse([]byte(text), "t.yaml", nil)
		if err != nil || p.UsesModel() != want {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}

// TestSetHeader: a header replaces that of the same name, and a wrong one is refused without showing its value.
func TestSetHeader(t *testing.T) {
	p := &Profile{Headers: map[string]string{"x-one": "old", "Other": "kept"}}
	before := p.Headers
	if err := p.SetHeader("X-One", "new"); err != nil || p.Header().Get("x-one") != "new" || len(p.Headers) != 2 {
		t.Errorf("%v, %v", p.Headers, err)
	}
	if before["x-one"] != "old" {
		t.Error("the map that the profile shares with others is changed")
	}
	for name, value := range map[string]string{"a b": "x", "X": "s3cret\r\nY: z"} {
		if err := p.SetHeader(name, value); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
