package certificate_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/reports/certificate"
)

// TestEveryByte alters, removes and doubles each byte of a certificate: none of these is accepted, but the
// certificate is.
func TestEveryByte(t *testing.T) {
	good := signed(t, statement(t, results(t, "", 1)), "acme")
	if ok, why := accepted(good); !ok {
		t.Fatal(why)
	}
	for i, b := range good {
		for _, other := range []byte{b ^ 1, b ^ 0x20, b ^ 0x80, ' ', '\n'} {
			if other == b {
				continue
			}
			refuse(t, fmt.Sprintf("byte %d as %q", i, other), replaced(good, i, 1, other))
		}
		refuse(t, fmt.Sprintf("byte %d removed", i), replaced(good, i, 1))
		refuse(t, fmt.Sprintf("a blank before byte %d", i), replaced(good, i, 0, ' '))
	}
	refuse(t, "a line at the end", append(bytes.Clone(good), '\n'))
}

func replaced(b []byte, at, n int, with ...byte) []byte { return slices.Concat(b[:at], with, b[at+n:]) }

func refuse(t *testing.T, what string, b []byte) {
	t.Helper()
	if ok, _ := accepted(b); ok {
		t.Errorf("%s: the certificate is accepted", what)
	}
}

// TestEveryField alters each field of the statement, and removes it. With the old signature the statement is refused
// because it was altered; signed again with another key, because of that key.
func TestEveryField(t *testing.T) {
	good := signed(t, statement(t, results(t, "", 1)), "acme")
	var envelope struct {
		PayloadType, Payload string
		Signatures           []struct{ KeyID, Sig string }
	}
	if err := json.Unmarshal(good, &envelope); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(envelope.Payload)
	if err != nil {
		t.Fatal(err)
	}
	altered := variants(t, payload)
	if len(altered) < 60 {
		t.Errorf("only %d fields were altered", len(altered))
	}
	for what, p := range altered {
		// the key is read before the signature is checked
		old := strings.Replace(string(good), envelope.Payload, base64.StdEncoding.EncodeToString(p), 1)
		if _, err := certificate.Open([]byte(old)); err == nil {
			t.Errorf("%s: opened with the old signature", what)
		} else if !strings.Contains(err.Error(), "altered") && !strings.Contains(what, "key") &&
			!strings.Contains(what, "ype") && what != ".predicate removed" {
			t.Errorf("%s: %v", what, err)
		}
		refuse(t, what+", signed by another", resigned(p, "mallory"))
	}
	// the twins of these: what was not altered opens, and is refused only for the key
	if ok, why := accepted(resigned(payload, "acme")); !ok {
		t.Error(why)
	}
}

// resigned puts a payload with the key of somebody into an envelope, as the specification of DSSE says, and not as
// the library does.
func resigned(payload []byte, name string) []byte {
	mine := base64.StdEncoding.EncodeToString(spki(public(name)))
	payload = []byte(strings.Replace(string(payload), base64.StdEncoding.EncodeToString(spki(public("acme"))), mine, 1))
	sig := ed25519.Sign(key(name), fmt.Appendf(nil, "DSSEv1 28 application/vnd.in-toto+json %d %s", len(payload), payload))
	return fmt.Appendf(nil, `{"payloadType":"application/vnd.in-toto+json","payload":%q,`+
		`"signatures":[{"keyid":%q,"sig":%q}]}`+"\n", base64.StdEncoding.EncodeToString(payload),
		certificate.KeyID(public(name)), base64.StdEncoding.EncodeToString(sig))
}

func spki(p ed25519.PublicKey) []byte {
	prefix := []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00} // RFC 8410
	return slices.Concat(prefix, p)
}

// variants returns a JSON text with each of its values altered, and each member removed.
func variants(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	var root any
	var walk func(path string, v any, set func(any), remove func())
	keep := func(what string) {
		b, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		out[what] = b
	}
	walk = func(path string, v any, set func(any), remove func()) {
		if remove != nil {
			remove()
			keep(path + " removed")
			set(v)
		}
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(path+"."+name, inner, func(x any) { v[name] = x }, func() { delete(v, name) })
			}
			v["more"] = 1
			keep(path + " with one more")
			delete(v, "more")
			return
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), inner, func(x any) { v[i] = x }, nil)
			}
			set(append(slices.Clone(v), "more"))
		case string:
			set(v + "x")
		case float64:
			set(v + 1)
		case bool:
			set(!v)
		}
		keep(path)
		set(v)
	}
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	walk("", root, func(any) {}, nil)
	return out
}
