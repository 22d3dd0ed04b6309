package replay

import (
	"strings"
	"testing"

	"parley/transport/transcript"
)

// TestSecrets: what was redacted is sent as the target's own secret of that name, or as its only one; else not at all.
func TestSecrets(t *testing.T) {
	rows := []struct {
		reason, label, body string
		has                 Secrets
		want                string // "": it cannot be sent
	}{
		{"nothing was redacted", "GET /a?room=7", "x", Secrets{All: []string{"s3cret"}}, "GET /a?room=7 x"},
		{"by the name of the parameter", "GET /a?token=«redacted»&key=«redacted»", "",
			Secrets{map[string]string{"token": "a%2Bb", "key": "k"}, []string{"a+b", "k"}}, "GET /a?token=a%2Bb&key=k "},
		{"the only secret", "GET /a?token=«redacted»", "Bearer «redacted»", Secrets{nil, []string{"a+b", "a+b"}},
			"GET /a?token=a%2Bb Bearer a+b"},
		{"a member of that name", "POST /a", `{"token": "«redacted»"}`,
			Secrets{map[string]string{"token": "a%22"}, []string{`a"`, "other"}}, `POST /a {"token": "a\""}`},
		{"none is known", "GET /a?token=«redacted»", "", Secrets{}, ""},
		{"which of two?", "GET /a?token=«redacted»", "", Secrets{nil, []string{"s3cret", "s4cret"}}, ""},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			r := row.has.Restore(transcript.Record{N: 1, Label: row.label, Bytes: []byte(row.body)})
			err := Sendable(r)
			if row.want == "" {
				if err == nil || !strings.Contains(err.Error(), "a secret was removed from it") {
					t.Errorf("%q %q can be sent: %v", r.Label, r.Bytes, err)
				}
				return
			}
			if got := r.Label + " " + string(r.Bytes); got != row.want || err != nil {
				t.Errorf("%q, want %q: %v", got, row.want, err)
			}
		})
	}
}
