package parley_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// badBooking is a target that is no host, or no relay, of external-agent, in one way or another.
type badBooking struct {
	name   string
	talk   func(ctx context.Context, c *websocket.Conn) // what it does with a connection, until it returns
	may    []string                                     // binding clauses that such a target may pass all the same
	reason string
	why    string // see badChat
}

// answering answers each envelope by a function of its type and id; "" says nothing.
func answering(say func(kind, id string, got []byte) string) func(context.Context, *websocket.Conn) {
	return each(func(got []byte) []byte {
		var e struct{ Type, ID string }
		_ = json.Unmarshal(got, &e)
		if out := say(e.Type, e.ID, got); out != "" {
			return []byte(out)
		}
		return []byte(`{"v":"mvp-0.2","type":"x.nothing","payload":{}}`)
	})
}

// welcomes answers relay.join as it should, and leaves the rest to another.
func welcomes(rest func(kind, id string, got []byte) string) func(context.Context, *websocket.Conn) {
	return answering(func(kind, id string, got []byte) string {
		if kind != "relay.join" {
			return rest(kind, id, got)
		}
		return string(bytes.Replace(bytes.Replace(got, []byte(`"relay.join"`), []byte(`"relay.joined"`), 1), []byte(`"id"`), []byte(`"replyTo"`), 1))
	})
}

func envelopeText(kind, replyTo, payload string) string {
	return fmt.Sprintf(`{"v":"mvp-0.2","type":%q,"replyTo":%q,"payload":%s}`, kind, replyTo, payload)
}

// form are the clauses about the form of envelopes, which who sends well-formed ones keeps.
var form = []string{"EA-018", "EA-019", "EA-021", "EA-022a", "EA-024"}

// welcome are those that who lets an agent join keeps.
var welcome = append([]string{"EA-023a", "EA-028", "EA-029", "EA-030", "EA-103", "EA-106"}, form...)

var badBookings = []badBooking{
	{name: "silent", why: `opens, and nothing came`, reason: "accepts and never says a word", talk: badChats[0].talk},
	{name: "never reads", why: `opens, and nothing came`, reason: "hangs behind the handshake", talk: badChats[1].talk},
	{name: "closes at once", why: `ends without a word`, reason: "ends each connection in order", talk: badChats[2].talk},
	{name: "resets", why: `ends without a word`, reason: "drops each connection", talk: badChats[3].talk},
	{name: "echo", why: `it says `, reason: "sends back what it gets", talk: each(func(got []byte) []byte { return got })},
	{name: "no JSON", why: `it says "hello?"`, reason: "speaks another language", talk: always("hello?")},
	{name: "arrays", reason: "speaks in lists", talk: always(`[{"v":"mvp-0.2"}]`)},
	{name: "a flood", reason: "never stops talking", may: form, talk: func(ctx context.Context, c *websocket.Conn) {
		for i := 0; ctx.Err() == nil; i++ {
			if c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"v":"mvp-0.2","type":"noise","payload":{"n":%d}}`, i)) != nil {
				return
			}
		}
	}},
	{name: "a huge message", why: `limits.max-event`, reason: "answers with more than anybody reads", talk: each(func([]byte) []byte {
		return []byte(`{"v":"mvp-0.2","type":"relay.joined","payload":{"x":"` + strings.Repeat("x", 9<<20) + `"}}`)
	})},
	{name: "refuses everything", may: append([]string{"EA-069", "EA-070", "EA-084", "EA-023a"}, form...), reason: "answers every envelope with one error",
		talk: answering(func(_, id string, _ []byte) string {
			return envelopeText("error", id, `{"code":"SESSION_NOT_ACTIVE","message":"no"}`)
		})},
	{name: "refuses without a word", may: append([]string{"EA-069", "EA-070", "EA-084"}, form...), reason: "answers with errors that name no request",
		talk: always(`{"v":"mvp-0.2","type":"error","payload":{"code":"INVALID_MESSAGE","message":"no"}}`)},
	{name: "a relay alone", may: welcome, reason: "lets an agent join, and there is nobody", talk: welcomes(func(string, string, []byte) string { return "" })},
	{name: "joined and refused", may: append([]string{"EA-069", "EA-070", "EA-084"}, welcome...), reason: "lets an agent join, and refuses the rest",
		talk: welcomes(func(_, id string, _ []byte) string {
			return envelopeText("error", id, `{"code":"UNKNOWN_TOOL","message":"no"}`)
		})},
	{name: "started and no more", may: append([]string{"EA-038", "EA-039", "EA-025"}, welcome...), reason: "starts sessions in which nothing happens",
		talk: welcomes(func(kind, id string, _ []byte) string {
			if kind != "session.start" {
				return ""
			}
			return envelopeText("session.started", id, `{"sessionId":"s-1"}`)
		})},
	{name: "says yes", reason: "confirms whatever it is asked, and has nothing to show",
		may: append([]string{"EA-038", "EA-039", "EA-025", "EA-004", "EA-005", "EA-006", "EA-016", "EA-041", "EA-042", "EA-043", "EA-044", "EA-045", "EA-077a",
			"EA-063", "EA-064", "EA-065", "EA-067", "EA-008", "EA-008a", "EA-011", "EA-015", "EA-102", "EA-048", "EA-052a"}, welcome...),
		talk: welcomes(func(kind, id string, _ []byte) string {
			switch kind {
			case "session.start":
				return envelopeText("session.started", id, `{"sessionId":"s-1"}`)
			case "snapshot.get":
				return envelopeText("snapshot.state", id, `{"sessionId":"s-1","uiSpec":{},"messageHistory":[],"toolSchema":[]}`)
			case "tool.call":
				return envelopeText("tool.result", id, `{"ok":true,"toolName":"select"}`)
			case "session.end":
				return envelopeText("session.ended", id, `{"sessionId":"s-1","logFile":"x","stateReset":true}`)
			}
			return ""
		})},
}

// TestBadBookingTargets holds the verdict against hosts and relays that answer nothing, or nothing right: each is
// non-conformant, and no clause passes but those that such a target keeps.
func TestBadBookingTargets(t *testing.T) {
	t.Parallel()
	for _, b := range badBookings {
		for _, role := range []string{"host", "relay"} {
			t.Run(role+" "+b.name, func(t *testing.T) {
				t.Parallel()
				p, err := target.ForURLOf("external-agent", badChat{talk: b.talk}.start(t))
				if err != nil {
					t.Fatal(err)
				}
				p.Role, p.ExternalAgent.Session = role, "s-{nonce}"
				judgesOrNot(t, p, b.why, b.may, b.reason)
			})
		}
	}
}

// reached are the clauses that a target keeps which can be connected to, and does nothing else.
var reached = map[string][]string{"external-agent": {"EA-017"}, "session-chat": {"SC-045", "SC-001"}, "session-runtime": {"RT-013"}}

// hurry makes limits what a bad target may cost: it leaves out one answer after the other.
func hurry(l *target.Limits) {
	l.Open.Duration, l.Event.Duration = min(l.Open.Duration, 5*time.Second), min(l.Event.Duration, runner.MutantLimit)
	l.HTTP.Duration, l.Turn.Duration = min(l.HTTP.Duration, 5*time.Second), min(l.Turn.Duration, 10*time.Second)
}

// judgesOrNot runs the suite against a bad target: it is judged, or else why says what stands in place of a verdict.
func judgesOrNot(t *testing.T, p *target.Profile, why string, may []string, reason string) {
	t.Helper()
	if why == "" {
		judgesBad(t, p, verdict.ExitNonConformant, may, reason)
		return
	}
	hurry(&p.Limits)
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	unjudged(t, res, why)
}

// unjudged holds the results of a target that does not speak its protocol: exit 3, one line that says why, and no clause that is
// passed or failed.
func unjudged(t *testing.T, res *reports.Results, why string) {
	t.Helper()
	if res.Exit != verdict.ExitUnreachable || res.Verdict != verdict.Incomplete {
		t.Errorf("%s, exit %d, want %d", res.Verdict, res.Exit, verdict.ExitUnreachable)
	}
	run := res.Runs[0]
	if env := run.Environment; !strings.Contains(env, why) || strings.Contains(env, "\n") || len(env) > 500 {
		t.Errorf("it says %q, want a line with %q", env, why)
	}
	for _, c := range run.Clauses {
		if c.Outcome != verdict.EnvError && c.Outcome != verdict.NotTested && !c.Excluded && !c.OtherRole {
			t.Errorf("%s is %s", c.ID, c.Outcome)
		}
	}
	for _, sc := range run.Scenarios {
		if sc.Outcome != verdict.EnvError && sc.Outcome != verdict.NotTested || len(sc.Failures) > 0 {
			t.Errorf("%s is %s with %d failures", sc.ID, sc.Outcome, len(sc.Failures))
		}
	}
	sameInEveryReport(t, res)
}

// judgesBad runs the suite against a bad target: no clause passes but those that such a target keeps.
func judgesBad(t *testing.T, p *target.Profile, exit int, may []string, reason string) {
	t.Helper()
	hurry(&p.Limits)
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != exit {
		t.Errorf("exit %d, want %d (%s)\n%s", res.Exit, exit, reason, console(t, res))
	}
	allowed := map[string]bool{}
	for _, id := range append(reached[p.Protocol], may...) {
		allowed[id] = true
	}
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == verdict.Passed && c.Level.Binding() && !allowed[c.ID] {
			t.Errorf("%s passed (%s): %s", c.ID, reason, c.Text)
		}
	}
}

// badAgents are agents that do nothing, or nothing right, as Python programs that speak WebSocket by hand.
var badAgents = []struct {
	name, script, reason string
	exit                 int // 0: non-conformant
	may                  []string
}{
	{name: "ends at once", script: `pass`, reason: "never connects"},
	{name: "knocks only", script: `connect()`, reason: "connects, and leaves", may: []string{"EA-016", "EA-106"}},
	{name: "knocks and waits", script: `connect(); wait()`, reason: "connects, and says nothing", may: []string{"EA-016", "EA-106"}},
	{name: "no WebSocket", script: `s = socket.create_connection((host, port)); s.sendall(b"hello\r\n\r\n"); s.recv(1000)`, reason: "speaks another language"},
	{name: "junk", script: `connect(); text("hello?"); wait()`, reason: "says what is no envelope", may: []string{"EA-016", "EA-106"}},
	// No clause has an agent speak: what it does not show is not tested.
	{name: "joins and waits", script: `connect(); text(join); wait()`, reason: "joins, and does nothing more", exit: verdict.ExitIncomplete,
		may: []string{"EA-016", "EA-106", "EA-018", "EA-019", "EA-021", "EA-022a", "EA-023a", "EA-024", "EA-026", "EA-027"}},
	{name: "talks at once", reason: "does not join", may: []string{"EA-016", "EA-106", "EA-018", "EA-019", "EA-021", "EA-022a", "EA-023a", "EA-024", "EA-031", "EA-103"},
		script: `connect(); text('{"v":"mvp-0.2","type":"session.start","id":"a","payload":{"studyId":"a","participantId":"b"}}'); wait()`},
}

// badAgent is the beginning of every script.
const badAgent = `
import os, socket, struct, sys, time
host, port = os.environ["PARLEY_URL"].split("/")[2].split(":")
port = int(port)
s = None
def connect():
    global s
    s = socket.create_connection((host, port))
    s.sendall(("GET /agent/ws HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % (host, port)).encode())
    got = b""
    while b"\r\n\r\n" not in got:
        got += s.recv(1000)
def text(t):
    b = t.encode()
    n = bytes([0x80 | len(b)]) if len(b) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(b))
    s.sendall(b"\x81" + n + b"\0\0\0\0" + b)
def wait():
    while s.recv(1000): pass
join = '{"v":"mvp-0.2","type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"default"}}'
`

// TestBadAgents holds the verdict against agents that do nothing, or nothing right.
func TestBadAgents(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("python3 is missing; install it: apt-get install -y python3")
	}
	for _, b := range badAgents {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p := target.DefaultFor("external-agent")
			p.Role, p.ExternalAgent.Session = "agent", "s-{nonce}"
			p.Command = &target.Command{Run: []string{"python3", "-c", badAgent + b.script}}
			p.ExternalAgent.Agent.Join.Duration, p.ExternalAgent.Agent.Pace.Duration = runner.MutantLimit, runner.MutantLimit
			judgesBad(t, p, cmp.Or(b.exit, verdict.ExitNonConformant), b.may, b.reason)
		})
	}
}
