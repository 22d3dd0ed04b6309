package externalagent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/target"
	"parley/transport/transcript"
)

// TestRelaySessionsLedAstray checks the same for a file led out of the folder by the id of a relay session, for hosts
// and relays.
func TestRelaySessionsLedAstray(t *testing.T) {
	const lines = "When agent A joins a relay session whose id contains path traversal, and works there\nThen whether " +
		"a file was written outside the log folder is recorded\n"
	// writes makes a target write a log file named after the relay session's id.
	writes := func(mend func(session string) string) bad {
		return func(c *peerConn, asked *transcript.Record, out []any) []any {
			if asked != nil && kindOf(asked) == vocab.AgentMessage {
				if err := os.WriteFile(filepath.Join(c.of.logs, mend(c.session)+".jsonl"), nil, 0o600); err != nil {
					t.Error(err)
				}
			}
			return out
		}
	}
	as := func(session string) string { return session }
	for _, r := range []struct {
		reason string
		bad    bad
		warned bool
	}{
		{"by its id", writes(as), true},
		{"by the end of its id", writes(filepath.Base), false},
		{"nothing is written", nil, false},
		{"such an id is refused", refuses(vocab.RelayJoin, vocab.InvalidMessage), false},
		{"nothing is answered", nothing(vocab.RelayJoin), false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad, logs: filepath.Join(t.TempDir(), "a", "b", "c", "logs")}
			if err := os.MkdirAll(p.logs, 0o700); err != nil {
				t.Fatal(err)
			}
			got := perform(t, environment(t, vocab.Host, p), p, "@EA-066", lines)
			expect(t, got, "EA-066=not-applicable", "")
			if (len(got.Security) > 0) != r.warned || len(got.Failures) > 0 {
				t.Errorf("security: %q, failures: %v", got.Security, got.Failures)
			}
		})
	}
}

// logging is a relay that keeps a log of each relay session.
type logging struct {
	*carrier
	folder string
}

func (l logging) LogFolder() (string, error) {
	if l.folder == "" {
		return "", &target.NotDeclaredError{Key: "external-agent.logs"}
	}
	return l.folder, nil
}

// astrayRows are relays with logs. In file and line, ID stands for the id of the relay session, and BASE for its last
// part.
var astrayRows = []struct {
	reason     string
	logs       string // external-agent.logs, within the folder; "": unknown
	file, line string // where the relay writes, from the folder on, and what; "": nowhere
	want       string // what is said about files outside
	little     bool   // the observation shows little
}{
	{"nothing is written", ".", "", "", "no", true},
	{"by its id", ".", "ID", "", "yes", false},
	{"a file of the session in the folder", ".", "study/BASE", "",
		"no; study/parley-n, where it belongs, mentions the session", false},
	{"a line of a file in the folder", ".", "relay.log", "joined ID",
		"no; relay.log, where it belongs, mentions the session", false},
	{"lines without the session", ".", "relay.log", "somebody joined", "no", true},
	{"a file", "relay.log", "relay.log", "joined ID", "no; relay.log, where it belongs, mentions the session", false},
	{"another file than the one that is named", "relay.log", "BASE", "", "yes", false},
	{"a file that is not there", "relay.log", "", "", "no", true},
	{"the place is unknown", "", "", "", "", false},
}

// TestRelaysLedAstray checks that for a relay only the location of files is checked, as the log is the host's, and
// that notes say so, and how much the location shows.
func TestRelaysLedAstray(t *testing.T) {
	const lines = "When agent A joins a relay session whose id contains path traversal, and works there\nThen whether " +
		"a file was written outside the log folder is recorded\n"
	for _, r := range astrayRows {
		t.Run(r.reason, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "a", "b", "logs")
			if err := os.MkdirAll(filepath.Join(folder, "study"), 0o700); err != nil {
				t.Fatal(err)
			}
			run := logging{&carrier{bad: func(from, _ *carried, _ *transcript.Record, body []byte) [][]byte {
				if r.file != "" && from.session != "" {
					fill := strings.NewReplacer("ID", from.session, "BASE", filepath.Base(from.session)).Replace
					if err := os.WriteFile(filepath.Join(folder, fill(r.file)), []byte(fill(r.line)), 0o600); err != nil {
						t.Error(err)
					}
				}
				return [][]byte{body}
			}}, ""}
			if r.logs != "" {
				run.folder = filepath.Join(folder, r.logs)
			}
			env := environment(t, vocab.Relay, run)
			env.Profile.Limits.Event.Duration = patience
			got := perform(t, env, run, "@EA-066", lines)
			if r.logs == "" {
				expect(t, got, "EA-066=not-applicable", "external-agent.logs")
			} else {
				expect(t, got, "EA-066=not-applicable", "only the location of files is checked")
				expect(t, got, "EA-066=not-applicable", "writes outside the log folder: "+r.want+"\n")
			}
			if warned := r.want == "yes"; (len(got.Security) > 0) != warned || len(got.Failures) > 0 {
				t.Errorf("security: %q, failures: %v", got.Security, got.Failures)
			}
			const little = "mentions the relay session, so that this shows little"
			if told := strings.Contains(strings.Join(got.Notes, "\n"), little); told != r.little {
				t.Errorf("whether it shows little: %v, notes %q", told, got.Notes)
			}
		})
	}
}

// TestPlaceOfLogs checks what doctor takes for a place of logs.
func TestPlaceOfLogs(t *testing.T) {
	folder := t.TempDir()
	file, pipe := filepath.Join(folder, "relay.log"), filepath.Join(folder, "pipe")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ role, place, want string }{
		{vocab.Relay, folder, ""}, {vocab.Relay, file, ""}, {vocab.Host, folder, ""},
		{vocab.Host, file, "a folder at external-agent.logs, " + file + "; observed a file"},
		{vocab.Relay, pipe, "a folder or a file at external-agent.logs, " + pipe + "; observed neither a folder nor"},
		{vocab.Relay, filepath.Join(folder, "none"), "no such file or directory"},
	} {
		within(t, r.role, "", func(s *suite) error {
			s.Target = logging{&carrier{}, r.place}
			err := s.folderThere()
			if (err == nil) != (r.want == "") || err != nil && !strings.Contains(err.Error(), r.want) {
				t.Errorf("%s, %s: %v, want %q", r.role, r.place, err, r.want)
			}
			return nil
		})
	}
}
