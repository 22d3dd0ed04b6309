package externalagent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// kinds changes the log lines of one type, or omits them if f is nil.
func kinds(kind string, f func(object)) func(object) object {
	return func(line object) object {
		if line[vocab.Type] != kind {
			return line
		}
		if f == nil {
			return nil
		}
		f(line)
		return line
	}
}

// everyLine changes every log line.
func everyLine(f func(object)) func(object) object {
	return func(line object) object { f(line); return line }
}

const logsLines = session + firstCall + saying + ending + "And the log of agent A's session is complete and in order\n"

var logsRows = []struct {
	reason, lines string
	line          func(object) object
	bad           bad
	want, has     string
}{
	{"complete", logsLines, nil, nil, "EA-010=passed EA-065=passed EA-085=passed EA-086=passed EA-087=passed " +
		"EA-088=passed EA-089=passed EA-089a=not-applicable EA-090=passed EA-091=passed EA-092=passed EA-093=passed " +
		"EA-107=passed", ""},
	{"no sessionId", logsLines, everyLine(unset("sessionId")), nil, "EA-086=failed EA-085=passed",
		"logs/study/s-20260213-001.jsonl:1: "},
	{"another sessionId", logsLines, everyLine(set("sessionId", "s-0")), nil, "EA-086=failed", "s-0"},
	{"an eventIndex that is a text", logsLines, everyLine(set("eventIndex", "1")), nil, "EA-087=failed", ".jsonl:1: "},
	{"an eventIndex that stays", logsLines, everyLine(set("eventIndex", 1)), nil, "EA-087=passed EA-088=failed",
		".jsonl:2: "},
	{"no timestamp", logsLines, everyLine(unset("timestamp")), nil, "EA-089=failed", ".jsonl:1: "},
	{"another form of timestamp", logsLines, everyLine(set("timestamp", "2026-02-13T10:22:17Z")), nil,
		"EA-089=passed EA-089a=not-applicable", ""},
	{"an invalid direction", logsLines, everyLine(set("direction", "up")), nil, "EA-090=failed", ".jsonl:1: "},
	{"the agent's view", logsLines, everyLine(func(l object) {
		l["direction"] = map[any]any{"in": "out",
			"out": "in"}[l["direction"]]
	}), nil, "EA-091=failed EA-090=passed", ".jsonl:"},
	{"no type", logsLines, everyLine(unset("type")), nil, "EA-092=failed", ".jsonl:1: "},
	{"no payload", logsLines, everyLine(unset("payload")), nil, "EA-093=failed", ".jsonl:1: "},
	{"a call without its reason", logsLines, kinds(vocab.ToolCall,
		func(l object) { delete(l[vocab.Payload].(object), "reason") }), nil, "EA-093=failed", "reason"},
	{"a missing call", logsLines, kinds(vocab.ToolCall, nil), nil, "EA-107=failed", vocab.ToolCall},
	{"a missing result", logsLines, kinds(vocab.ToolResult, nil), nil, "EA-107=failed", vocab.ToolResult},
	{"a missing message that no clause calls an event", logsLines, kinds(vocab.AgentMessage, nil), nil,
		"EA-107=passed EA-093=passed", ""},
	{"a message logged with another payload", logsLines,
		kinds(vocab.AgentMessage, func(l object) { l["payload"] = object{"text": "x"} }), nil, "EA-093=failed", ".jsonl:"},
	{"a state logged with half its payload", logsLines,
		kinds(vocab.StateUpdated, func(l object) { delete(l[vocab.Payload].(object), "toolSchema") }), nil, "EA-093=failed",
		".jsonl:"},
	{"what need not be there", logsLines, kinds(vocab.SnapshotGet, nil), nil, "EA-107=passed EA-093=passed", ""},
	{"nothing", logsLines, func(object) object { return nil }, nil, "EA-010=failed", ""},
	{"no file", logsLines, nil, edit(vocab.SessionEnded, set("logFile", unwritten)),
		"EA-010=failed EA-065=failed EA-085=failed EA-107=failed", "a log at logFile"},
	{"a file elsewhere", logsLines, nil, edit(vocab.SessionEnded, set("logFile", "../../etc/passwd")),
		"EA-010=not-tested EA-085=not-tested", "the log is not read"},
	{"no session has ended", session + "Then the log of agent A's session is complete and in order\n", nil, nil,
		"EA-010=not-tested", "no session of agent A has ended"},
}

func TestLogs(t *testing.T) {

	for _, r := range logsRows {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad, line: r.line, logs: filepath.Join(t.TempDir(), "logs")}
			if err := os.MkdirAll(p.logs, 0o700); err != nil {
				t.Fatal(err)
			}
			env := environment(t, vocab.Host, p)
			got := perform(t, env, p, tagsOf(r.want), r.lines)
			expect(t, got, r.want, r.has)
			if outside := r.reason == "a file elsewhere"; outside != (len(got.Security) > 0) {
				t.Errorf("security: %q", got.Security)
			}
		})
	}
}

// TestAnotherSessionMeanwhile checks that another agent's session that begins during one does not affect that one's
// log.
func TestAnotherSessionMeanwhile(t *testing.T) {
	p := &peer{logs: filepath.Join(t.TempDir(), "logs")}
	if err := os.MkdirAll(p.logs, 0o700); err != nil {
		t.Fatal(err)
	}
	// The log exists from the first call on, as for a host that writes it event by event.
	p.bad = to(vocab.RelayJoin, func(c *peerConn, _ *transcript.Record, out []any) []any {
		for _, other := range p.conns {
			if other.session != c.session && other.session != "" {
				other.writeLog(object{vocab.LogFile: "logs/study/s-20260213-001.jsonl"})
			}
		}
		return out
	})
	const lines = session + firstCall + "And agent B joins the relay session \"other\"\nAnd agent B is told that it " +
		"has joined\nAnd agent B has a session\n" +
		firstCall + ending + "And the log of agent A's session is complete and in order\n"
	expect(t, perform(t, environment(t, vocab.Host, p), p, "@log @EA-107 @EA-093", lines), "EA-107=passed EA-093=passed",
		"")
}

// TestLogsStay checks that later sessions must not change the logs of earlier ones.
func TestLogsStay(t *testing.T) {
	const look = "And the log of agent A's session is complete and in order\n"
	const lines = session + firstCall + ending + look + session + ending + look +
		"And the logs read so far are unchanged\n"
	// second does something to the first log when the second session ends.
	second := func(do func(file string) error) bad {
		return to(vocab.SessionEnd, func(c *peerConn, _ *transcript.Record, out []any) []any {
			if c.of.count == 2 {
				if err := do(filepath.Join(c.of.logs, "study", "s-20260213-001.jsonl")); err != nil {
					t.Error(err)
				}
			}
			return out
		})
	}
	for _, r := range []struct {
		reason, lines string
		bad           bad
		want, has     string
	}{
		{"as they were", lines, nil, "EA-010=passed EA-086=passed EA-088=passed", ""},
		{"one more line", lines, second(func(file string) error {
			b, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, append(b, "{}\n"...), 0o600))
		}), "EA-010=passed EA-088=passed", ""},
		{"a byte is another", lines, second(func(file string) error {
			b, err := os.ReadFile(file)
			b[len(b)-2] = ' '
			return errors.Join(err, os.WriteFile(file, b, 0o600))
		}), "EA-010=failed EA-088=failed", ": identical up to line "},
		{"emptied", lines, second(func(file string) error { return os.Truncate(file, 0) }), "EA-088=failed",
			"and now has 0"},
		{"gone", lines, second(os.Remove), "EA-010=failed EA-088=failed", "s-20260213-001.jsonl"},
		{"one file for all", lines, edit(vocab.SessionEnded, set("logFile", "logs/study/all.jsonl")), "EA-010=failed",
			"all.jsonl"},
		{"no log was read before", session + "Then the logs read so far are unchanged\n", nil, "EA-088=not-tested",
			"no log was read"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad, logs: filepath.Join(t.TempDir(), "logs")}
			if err := os.MkdirAll(p.logs, 0o700); err != nil {
				t.Fatal(err)
			}
			expect(t, perform(t, environment(t, vocab.Host, p), p, tagsOf(r.want), r.lines), r.want, r.has)
		})
	}
}

// TestSharedLogs checks that one file may hold several sessions, even if all have one name. Earlier lines and lines
// of other sessions do not belong to the session.
func TestSharedLogs(t *testing.T) {
	const look = "And the log of agent A's session is complete and in order\n"
	const lines = session + firstCall + ending + look + session + firstCall + ending + look +
		"And the logs read so far are unchanged\n"
	const all = "logs/study/all.jsonl"
	// Lines left by malformed messages: one of another session, one without a session, and half a line.
	const before = `{"sessionId":"s-0","eventIndex":9,"timestamp":"2026-02-13T10:22:17.123Z","direction":"in",` +
		`"type":"snapshot.get","payload":[]}` + "\n" +
		`{"sessionId":null,"eventIndex":9,"timestamp":"2026-02-13T10:22:17.123Z","direction":"in","type":"tool.call",` +
		`"payload":"{}"}` + "\n" + `oops` + "\n"
	const want = "EA-010=passed EA-085=passed EA-086=passed EA-087=passed EA-088=passed EA-090=passed EA-092=passed " +
		"EA-093=passed EA-107=passed"
	much := strings.Repeat("x", target.MaxLog) + "\n" // not judged, as it lay there before the scenario began
	for _, r := range []struct {
		reason string
		p      *peer
		before string
		want   string
		has    string
	}{
		{"each session of its own name", &peer{}, "", want, ""},
		{"one name for all", &peer{study: "P07"}, "", want, ""},
		{"one name for all, and what lay there", &peer{study: "P07"}, strings.ReplaceAll(before, "s-0", "P07"), want, ""},
		{"what malformed messages have left", &peer{}, before, want, ""},
		{"more lay there than is read of a log", &peer{}, much, want, ""},
		{"more lay there, and an invalid payload is added", &peer{line: kinds(vocab.ToolResult, set("payload", []any{}))},
			much, "EA-093=failed EA-010=passed", all + ":8: payload "},
		{"lines that malformed messages leave meanwhile", &peer{line: func(l object) object {
			if l[vocab.Type] == vocab.AgentMessage {
				return nil
			}
			if l[vocab.Type] == vocab.SnapshotGet {
				return object{"sessionId": "s-0", "eventIndex": 1, "timestamp": "now", "direction": "in", "type": vocab.ToolCall,
					vocab.Payload: []any{}}
			}
			return l
		}}, "", want, ""},
		{"an invalid payload of the session itself", &peer{line: kinds(vocab.ToolResult, set("payload", []any{}))}, before,
			"EA-093=failed EA-010=passed", "payload, an object"},
		{"its order is broken", &peer{line: everyLine(set("eventIndex", 1))}, before, "EA-088=failed EA-010=passed", all +
			":5: "},
		{"a line of the session is not there", &peer{line: kinds(vocab.ToolCall, nil)}, before, "EA-107=failed",
			vocab.ToolCall},
	} {
		t.Run(r.reason, func(t *testing.T) {
			r.p.appends, r.p.logs, r.p.bad = true, filepath.Join(t.TempDir(), "logs"),
				edit(vocab.SessionEnded, set("logFile", all))
			if err := os.MkdirAll(filepath.Join(r.p.logs, "study"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(r.p.logs, "study", "all.jsonl"), []byte(r.before), 0o600); err != nil {
				t.Fatal(err)
			}
			env := environment(t, vocab.Host, r.p)
			binding.Of(env.Profile).Logs = r.p.logs
			expect(t, perform(t, env, r.p, "@log "+tagsOf(r.want), lines), r.want, r.has)
		})
	}
}

// TestLogGoesOn checks a host that ends a session with its agent's connection, and gives the next one the same id: as
// no session.ended has come between them, its lines belong to one session, and are counted on (EA-088).
func TestLogGoesOn(t *testing.T) {
	const again = session + firstCall + "And agent A loses its connection\nAnd agent A has joined\n"
	const rest = "And agent A has a session\n" + firstCall + ending +
		"And the log of agent A's session is complete and in order\n"
	const all = "logs/study/all.jsonl"
	for _, r := range []struct {
		reason string
		goesOn bool
		lines  string
		want   string
		has    string
	}{
		{"it starts again", false, again + rest, "EA-088=failed EA-107=passed EA-093=passed", all + ":"},
		{"it goes on", true, again + rest, "EA-088=passed EA-107=passed EA-093=passed", ""},
		{"it starts again behind session.ended", false, session + firstCall + ending + rest,
			"EA-088=passed EA-107=passed EA-093=passed", ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			count := 0
			p := &peer{study: "P07", appends: true, logs: filepath.Join(t.TempDir(), "logs"), line: everyLine(func(l object) {
				if count++; r.goesOn {
					l["eventIndex"] = count
				}
			})}
			gone := false
			p.bad = func(c *peerConn, asked *transcript.Record, out []any) []any {
				switch {
				case asked == nil:
				case kindOf(asked) == vocab.RelayJoin && len(p.conns) > 1:
					gone = true
					c.writeLog(object{vocab.LogFile: all})
				case kindOf(asked) == vocab.SessionStart:
					gone = false
				case kindOf(asked) == vocab.SnapshotGet && gone:
					return refuses(vocab.SnapshotGet, vocab.SessionNotActive)(c, asked, out)
				}
				return edit(vocab.SessionEnded, set("logFile", all))(c, asked, out)
			}
			if err := os.MkdirAll(p.logs, 0o700); err != nil {
				t.Fatal(err)
			}
			expect(t, perform(t, environment(t, vocab.Host, p), p, "@log "+tagsOf(r.want), r.lines), r.want, r.has)
		})
	}
}

// TestUnreadableLogs checks that nothing is judged if the folder is unknown.
func TestUnreadableLogs(t *testing.T) {
	const lines = session + ending + "And the log of agent A's session is complete and in order\n"
	p := &peer{}
	expect(t, perform(t, environment(t, vocab.Host, p), p, "@EA-010", lines), "EA-010=not-tested", "external-agent.logs")
	expect(t, perform(t, environment(t, vocab.Host, p), struct{ target.Running }{p}, "@EA-010", lines),
		"EA-010=not-tested", "external-agent.logs")
}

// TestLogsLedAstray checks that a log led out of its folder by path characters in an id is a security matter, and
// breaks no clause.
func TestLogsLedAstray(t *testing.T) {
	const lines = joined + "When agent A starts a session whose ids contain path traversal\nAnd the answer to agent " +
		"A's message is recorded\nAnd agent A ends the session\n" +
		"And the answer to agent A's message is recorded\nThen the location of the log of agent A's session is recorded\n"
	for _, r := range []struct {
		reason string
		bad    bad
		plant  string // an existing file, relative to the folder of logs
		want   string
		warned bool
	}{
		{"in its folder", nil, "", "EA-066=not-applicable", false},
		{"its name leads out", edit(vocab.SessionEnded, set("logFile", "logs/../../../parley-n.jsonl")), "",
			"EA-066=not-applicable", true},
		{"its name is absolute", edit(vocab.SessionEnded, set("logFile", "/etc/parley")), "", "EA-066=not-applicable", true},
		{"it lies beside its folder", nil, "../parley-n.jsonl", "EA-066=not-applicable", true},
		{"such ids are refused", all(refuses(vocab.SessionStart, "INVALID_PARAMS"),
			refuses(vocab.SessionEnd, "SESSION_NOT_ACTIVE")), "", "EA-066=not-tested", false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad, logs: filepath.Join(t.TempDir(), "a", "b", "c", "logs")}
			if err := os.MkdirAll(p.logs, 0o700); err != nil {
				t.Fatal(err)
			}
			if r.plant != "" {
				if err := os.WriteFile(filepath.Join(p.logs, r.plant), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := perform(t, environment(t, vocab.Host, p), p, "@EA-066", lines)
			expect(t, got, r.want, "")
			if (len(got.Security) > 0) != r.warned || len(got.Failures) > 0 {
				t.Errorf("security: %q, failures: %v", got.Security, got.Failures)
			}
		})
	}
}

// TestMessages checks that messages returns the messages from the start of the session to its end, as the host sees
// them, and that only calls and their results are required.
func TestMessages(t *testing.T) {
	within(t, vocab.Host, "", func(s *suite) error {
		a := s.party("A")
		if err := s.hasSession(t.Context(), a); err != nil {
			return err
		}
		if _, err := s.call(t.Context(), a, "next", object{}); err != nil {
			return err
		}
		if _, err := s.ask(t.Context(), a, vocab.AgentMessage, object{"text": "Hi"}); err != nil {
			return err
		}
		if err := s.ends(t.Context(), a); err != nil {
			return err
		}
		end := a.last
		if _, err := s.call(t.Context(), a, "next", object{}); err != nil {
			return err
		}
		var got []string
		for _, m := range s.messages(a, end) {
			got = append(got, m.Direction+" "+m.Type)
			if m.Record == 0 || m.Payload == nil || m.Optional == slices.Contains([]string{vocab.ToolCall, vocab.ToolResult},
				m.Type) {
				t.Errorf("%+v", m)
			}
		}
		if want := []string{"out state.updated", "in tool.call", "out error", "in agent.message", "out state.updated",
			"in session.end"}; wjson.Compact(got) != wjson.Compact(want) {
			t.Errorf("%v, want %v", got, want)
		}
		return nil
	})
}
