package bad_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
	"parley/verdict"
)

// frameOf has the parts of a frame that a bad orchestrator reads.
type frameOf struct {
	Parley, ID, SessionID, Event, Subtype, Sender, Text string
	ActiveAgentID                                       string
	Metadata                                            map[string]any
	Payload                                             any
}

func read(got []byte) (f frameOf) {
	var doc map[string]any
	_ = json.Unmarshal(got, &doc)
	text := func(name string) string { s, _ := doc[name].(string); return s }
	f = frameOf{Parley: text("parley"), ID: text("id"), SessionID: text("session_id"), Event: text("event"),
		Subtype: text("subtype"), Sender: text("sender"),
		ActiveAgentID: text("active_agent_id"), Payload: doc["payload"], Text: string(got)}
	f.Metadata, _ = doc["metadata"].(map[string]any)
	return f
}

// orchestrating answers set-ups and fences correctly and leaves the rest to publish.
func orchestrating(publish func(f frameOf) []string) func(context.Context, *websocket.Conn) {
	return func(ctx context.Context, c *websocket.Conn) {
		for {
			_, got, err := c.Read(ctx)
			if err != nil {
				return
			}
			f := read(got)
			var out []string
			switch f.Parley {
			case "setup":
				out = []string{fmt.Sprintf(`{"parley":"ready","session_id":%q}`, f.SessionID)}
			case "fence":
				out = []string{fmt.Sprintf(`{"parley":"fenced","id":%q}`, f.ID)}
			default:
				out = publish(f)
			}
			for _, line := range out {
				if c.Write(ctx, websocket.MessageText, []byte(line)) != nil {
					return
				}
			}
		}
	}
}

// published returns a message published by an orchestrator.
func published(f frameOf, event, subtype, target, id string, payload any) string {
	doc := map[string]any{"id": "x", "session_id": f.SessionID, "event": event, "subtype": subtype, "sender": "session",
		"target": target, "target_id": id, "payload": payload,
		"metadata": map[string]any{"turn_id": "t", "trace_id": "t"}}
	data, _ := json.Marshal(doc, json.Deterministic(true))
	return string(data)
}

var badRuntimes = []badChat{
	{name: "silent", why: `opens, but sends nothing`, reason: "accepts and never says a word",
		talk: func(ctx context.Context, c *websocket.Conn) {
			for {
				if _, _, err := c.Read(ctx); err != nil {
					return
				}
			}
		}},
	{name: "never reads", why: `opens, but sends nothing`, reason: "hangs after the handshake",
		talk: func(ctx context.Context, c *websocket.Conn) { <-ctx.Done() }},
	{name: "resets", why: `ends without sending anything`, reason: "drops each connection",
		talk: func(_ context.Context, c *websocket.Conn) { _ = c.CloseNow() }},
	{name: "echo", why: `it sends `, reason: "sends back what it gets",
		talk: each(func(got []byte) []byte { return got })},
	{name: "junk", why: `it sends "hello?"`, reason: "speaks another language", talk: always("hello?")},
	{name: "arrays", reason: "speaks in lists", talk: always(`[{"parley":"ready"}]`)},
	{name: "always ready", reason: "answers everything with ready", talk: always(`{"parley":"ready"}`)},
	{name: "a huge frame", why: `limits.max-event`, reason: "answers with more than is ever read",
		talk: each(func([]byte) []byte {
			return []byte(`{"parley":"ready","pad":"` + strings.Repeat("x", 9<<20) + `"}`)
		})},
	{name: "binary", why: `it sends `, reason: "answers in binary frames",
		talk: func(ctx context.Context, c *websocket.Conn) {
			for {
				_, got, err := c.Read(ctx)
				if err != nil || c.Write(ctx, websocket.MessageBinary, got) != nil {
					return
				}
			}
		}},
	{name: "a flood", why: lost, reason: "never stops talking", talk: func(ctx context.Context, c *websocket.Conn) {
		for i := 0; ctx.Err() == nil; i++ {
			if c.Write(ctx, websocket.MessageText,
				fmt.Appendf(nil, `{"id":"n%d","event":"NOISE","target":"LOGGER","payload":null}`, i)) != nil {
				return
			}
		}
	}},
	{name: "does nothing", reason: "answers set-ups and fences alone",
		talk: orchestrating(func(frameOf) []string { return nil })},
	{name: "hands back", reason: "publishes what was delivered",
		talk: orchestrating(func(f frameOf) []string { return []string{f.Text} })},
	{name: "errors", reason: "refuses everything",
		talk: orchestrating(func(f frameOf) []string {
			return []string{published(f, "ERROR", "NO", "FRONTEND", "", map[string]any{"code": "NO"})}
		})},
	// A first plain input to that agent is routed correctly. What else it publishes follows from its first deviation.
	{name: "routes to nobody in particular", reason: "routes every message to one agent",
		may: []string{"RT-001", "RT-009", "RT-030", "RT-053", "RT-055", "RT-067", "RT-070", "RT-074", "RT-076", "RT-093",
			"RT-169", "RT-170"},
		talk: orchestrating(func(f frameOf) []string {
			return []string{published(f, "USER_INPUT", "", "AGENT", "agent-a", f.Payload),
				published(f, "EVENT", "TURN_ACCEPTED", "FRONTEND", "", map[string]any{"target_agent": "agent-a"})}
		})},
}

// TestBadRuntimes checks the verdicts on orchestrators that do nothing, or nothing right.
func TestBadRuntimes(t *testing.T) {
	t.Parallel()
	for _, b := range suitetest.Some(badRuntimes, 7) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p, err := protocols.Kinds().ForURL("session-runtime", b.start(t))
			if err != nil {
				t.Fatal(err)
			}
			judgesOrNot(t, p, b.why, b.may, b.reason)
		})
	}
}

// badProcesses are orchestrators on stdio, as Python programs.
var badProcesses = []struct {
	name, script, reason string
	exit                 int // 0: non-conformant
}{
	{"ends at once", `pass`, "is gone before it is asked", 0},
	{"crashes at the first line", `sys.stdin.readline(); sys.exit("no idea")`, "fails", 0},
	{"silent", `sys.stdin.read()`, "reads and never says a word", verdict.ExitUnreachable},
	{"never reads", `threading.Event().wait()`, "neither reads nor writes", verdict.ExitUnreachable},
	{"junk", "for line in sys.stdin: print('hello?', flush=True)", "speaks another language", verdict.ExitUnreachable},
	{"no line", "for line in sys.stdin: sys.stdout.write('{\"parley\":\"ready\"}'); sys.stdout.flush()",
		"ends no line: nothing of the protocol ever came", verdict.ExitUnreachable},
	{"an endless line", "sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 65536)", "never ends its line", 0},
	{"echo", "for line in sys.stdin: print(line, end='', flush=True)", "sends back what it gets",
		verdict.ExitUnreachable},
	{"does nothing",
		"for line in sys.stdin:\n    f = json.loads(line)\n" +
			"    if f.get('parley') == 'setup': print('{\"parley\":\"ready\"}', flush=True)\n" +
			"    if f.get('parley') == 'fence': print(json.dumps({'parley': 'fenced', 'id': f['id']}), flush=True)",
		"answers set-ups and fences alone", 0},
}

// TestBadProcesses is TestBadRuntimes over stdio.
func TestBadProcesses(t *testing.T) {
	t.Parallel()
	suitetest.Needs(t, "python3")
	for _, b := range badProcesses {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p := protocols.Kinds().New("session-runtime")
			p.Name, p.Drivers, p.Dir = b.name, []string{target.Stdio}, t.TempDir()
			p.Command = &target.Command{Run: []string{"python3", "-c", "import json, sys, threading\n" + b.script}}
			p.Command.Stop.Duration = runner.MutantLimit
			p.Limits.MaxEvent = 64 << 10 // an endless line soon exceeds it
			judgesBad(t, p, cmp.Or(b.exit, verdict.ExitNonConformant), nil, b.reason)
		})
	}
}
