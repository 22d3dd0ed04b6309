package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/steps/protocols"
	"parley/target"
)

// TestTellShared: if scenarios share one relay session and take long, a note names the key that gives each its own.
func TestTellShared(t *testing.T) {
	const host = "protocol: external-agent\nrole: host\nurl: http://127.0.0.1:1\n"
	for _, tt := range []struct {
		profile string
		took    time.Duration
		want    string // part of the note; "": no note
	}{
		{host, 2 * time.Minute, `external-agent.session: "s-{nonce}"`},
		{host, 2 * time.Second, ""},
		{host + "external-agent: {session: 's-{nonce}'}", 2 * time.Minute, ""},
		{"protocol: agent-select\nurl: http://127.0.0.1:1\nagent-select: {correlation: single}", 2 * time.Minute,
			"correlation: single"},
		{"protocol: session-chat\nurl: http://127.0.0.1:1\nhooks: {reset: x}", 2 * time.Minute,
			"they share the data that hooks.reset resets; to run them in parallel, leave out hooks.reset, if scenarios"},
		{host + "hooks: {reset: x}", 2 * time.Minute, "(external-agent.session), and the data that hooks.reset resets; to " +
			"run them in parallel, if the target has a host in every relay session, give external-agent.session: " +
			"\"s-{nonce}\", and leave out hooks.reset"},
	} {
		path := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(path, []byte(tt.profile), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := protocols.Kinds().Load(path)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{o: Options{Profile: p}}
		r.tellShared(&driverRun{name: target.WS}, tt.took)
		switch {
		case len(r.notes) > 1, len(r.notes) == 0 && tt.want != "":
			t.Errorf("%s: %d notes", tt.profile, len(r.notes))
		case len(r.notes) == 1 && (tt.want == "" || !strings.Contains(r.notes[0].Text, tt.want)):
			t.Errorf("%s: %q, want %q in it", tt.profile, r.notes[0].Text, tt.want)
		}
	}
}
