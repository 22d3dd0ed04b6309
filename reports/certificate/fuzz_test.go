package certificate_test

import (
	"bytes"
	"testing"

	"parley/reports/certificate"
)

// FuzzOpen: what is accepted as a certificate is one byte for byte, and nothing else ends the program.
func FuzzOpen(f *testing.F) {
	for _, text := range []string{"", "{}\n", "null\n",
		`{"payloadType":"application/vnd.in-toto+json","payload":"","signatures":[]}` + "\n",
		`{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"","sig":""}]}` +
			"\n", "[[[["} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := certificate.Open(text)
		if (c == nil) && err == nil || err == nil && !bytes.Equal(c.Bytes, text) {
			t.Errorf("%v, %v", c, err)
		}
	})
}

// FuzzKeys: a key is private, public or refused.
func FuzzKeys(f *testing.F) {
	for _, text := range []string{"", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n" +
			"-----END PUBLIC KEY-----\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		private, err1 := certificate.ParsePrivate(text)
		public, err2 := certificate.ParsePublic(text)
		if err1 == nil && (err2 == nil || len(private) == 0) || err2 == nil && len(public) == 0 {
			t.Errorf("%d bytes and %v; %d bytes and %v", len(private), err1, len(public), err2)
		}
	})
}

// FuzzReadKills: kill matrices that are read are written and read again.
func FuzzReadKills(f *testing.F) {
	all, err := certificate.WriteKills(sampleKills())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(all)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := certificate.ReadKills(text)
		if err != nil {
			return
		}
		once, err := certificate.WriteKills(k)
		if err != nil {
			t.Fatal(err)
		}
		again, err := certificate.ReadKills(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := certificate.WriteKills(again); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("it is not written the same again: %v", err)
		}
	})
}
