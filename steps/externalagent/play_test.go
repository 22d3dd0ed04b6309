package externalagent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/driver"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// host is a play of the built-in flow, which is told one message after the other.
func host(t *testing.T, relay bool) *play {
	t.Helper()
	f, err := loadFlow("")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlay(transcript.New(decode), f, "n")
	p.relay = relay
	return p
}

// brief is what a play sends, in short: types with codes, or what a tool.result says.
func brief(out []any) string {
	var words []string
	for _, v := range out {
		if _, ok := v.(remark); ok {
			continue
		}
		env, ok := v.(object)
		if !ok {
			words = append(words, "?")
			continue
		}
		word := kindOfObject(env)
		p, _ := env["payload"].(object)
		if code, ok := p["code"].(string); ok {
			word += ":" + code
		}
		if env["replyTo"] != nil {
			word += "@"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// TestPlay: what the host that the harness plays answers, from the first message to the last.
func TestPlay(t *testing.T) {
	call := func(tool, params string) string {
		return `{"type":"tool.call","id":"c","payload":{"toolName":"` + tool + `","params":` + params + `,"reason":"r"}}`
	}
	const well = "tool.result@ state.updated"
	p := host(t, true)
	for i, r := range []struct{ in, want string }{
		{`{"type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"default"}}`, "relay.joined@"},
		{`no JSON`, "error:INVALID_MESSAGE"},
		{`[]`, "error:INVALID_MESSAGE"},
		{`{"type":"session.start","id":"s"}`, "error:INVALID_MESSAGE@"},
		{`{"type":"parley.unknown","id":"u","payload":{}}`, "error:INVALID_MESSAGE@"},
		{`{"id":"u","payload":{}}`, "error:INVALID_MESSAGE@"},
		{`{"type":"snapshot.get","id":"g","payload":{}}`, "error:SESSION_NOT_ACTIVE@"},
		{`{"type":"session.end","id":"e","payload":{}}`, "error:SESSION_NOT_ACTIVE@"},
		{`{"type":"agent.message","id":"m","payload":{"text":"Hi"}}`, "error:SESSION_NOT_ACTIVE@"},
		{call("next", `{}`), "error:SESSION_NOT_ACTIVE@"},
		{`{"type":"session.start","id":"s","payload":{}}`, "session.started@ state.updated"},
		{`{"type":"snapshot.get","id":"g","payload":{}}`, "snapshot.state@"},
		{`{"type":"snapshot.get","payload":{}}`, "snapshot.state"},
		{`{"type":"snapshot.get","id":7,"payload":{}}`, "snapshot.state"},
		{`{"type":"agent.message","id":"m","payload":{"text":"Hi"}}`, "state.updated"},
		{`{"type":"tool.call","id":"c","payload":{}}`, "error:UNKNOWN_TOOL@"},
		{call("prev", `{}`), "error:UNKNOWN_TOOL@"},
		{call("select", `{}`), "error:INVALID_PARAMS@"},
		{call("select", `null`), "error:INVALID_PARAMS@"},
		{call("next", `{}`), "error:TOOL_EXECUTION_FAILED@"},
		{call("select", `{"itemId":"m2"}`), well},
		{call("next", `{}`), well},
		{call("select", `{"itemId":"m2"}`), "error:UNKNOWN_TOOL@"},
		{call("setQuantity", `{"itemId":"adult","quantity":9}`), "error:INVALID_PARAMS@"},
		{call("prev", `{}`), well},
		{call("next", `{}`), "error:TOOL_EXECUTION_FAILED@"}, // the stage begins anew
		{call("select", `{"itemId":"m1"}`), well},
		{call("postMessage", `{"text":"Hello"}`), well},
		{call("next", `{}`), well},
		{call("setQuantity", `{"itemId":"adult","quantity":2}`), well},
		{call("next", `{}`), well},
		{call("next", `{}`), well},
		{call("next", `{}`), "error:NO_ACTIVE_SPEC@"},
		{`{"type":"snapshot.get","id":"g","payload":{}}`, "snapshot.state@"},
		{`{"type":"session.start","id":"s","payload":{}}`, "session.started@ state.updated"},
		{call("select", `{"itemId":"m1"}`), well},
		{`{"type":"session.end","id":"e","payload":{"reason":"r"}}`, "session.ended@"},
		{call("next", `{}`), "error:SESSION_NOT_ACTIVE@"},
		{`{"type":"error","payload":{"code":"X"}}`, "error:INVALID_MESSAGE"},
	} {
		if got := brief(p.respond(heard(r.in))); got != r.want {
			t.Errorf("message %d, %s: %s, want %s", i+1, r.in, got, r.want)
		}
	}
}

// TestPlayAsAHostOnly: beside a relay it leaves joining and errors to that.
func TestPlayAsAHostOnly(t *testing.T) {
	p := host(t, false)
	for in, want := range map[string]string{
		`{"type":"relay.joined","payload":{}}`:                 "",
		`{"type":"relay.joined"}`:                              "",
		`{"type":"error","payload":{"code":"INVALID_PARAMS"}}`: "",
		`{"type":"error"}`:                                     "",
		`{"type":"relay.join","id":"j","payload":{}}`:          "",
		`{"v":"mvp-0.2","type":"relay.presence","payload":{}}`: "",
		`{"type":"relay.presence","id":"p"}`:                   "",
		`{"type":"host.replaced","payload":{}}`:                "",
		`{"type":"host.replaced"}`:                             "",
		`{"type":"parley.unknown","id":"u","payload":{}}`:      "error:INVALID_MESSAGE@",
		`{"payload":{}}`:                                       "error:INVALID_MESSAGE",
		`{"type":"snapshot.get"}`:                              "error:INVALID_MESSAGE",
		`[]`:                                                   "error:INVALID_MESSAGE",
	} {
		if got := brief(p.respond(heard(in))); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestWhatThePlayShows: what a call does is in its result and in the state behind it, and nothing of a session is in the next.
func TestWhatThePlayShows(t *testing.T) {
	p := host(t, false)
	p.respond(heard(`{"type":"session.start","id":"s","payload":{}}`))
	out := p.respond(heard(`{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m2"}}}`))
	for i, at := range []string{"/payload/uiSpec/selected/0", "/payload/uiSpec/selected/0"} {
		if v, _ := wjson.Lookup(out[i], at); v != "m2" {
			t.Errorf("message %d has %s at %s", i+1, wjson.Compact(v), at)
		}
	}
	p.respond(heard(`{"type":"agent.message","payload":{"text":"Hi"}}`))
	if got := wjson.Compact(p.state()["messageHistory"]); got != `[{"role":"agent","text":"Hi"}]` {
		t.Errorf("messageHistory is %s", got)
	}
	p.respond(heard(`{"type":"session.start","id":"s","payload":{}}`))
	if got := wjson.Compact([]any{p.state()["messageHistory"], p.ui.(object)["selected"]}); got != `[[],[]]` {
		t.Errorf("a new session begins with %s", got)
	}
	ended := p.respond(heard(`{"type":"session.end","id":"e","payload":{}}`))
	if got := wjson.Compact(ended[0].(object)["payload"]); got != `{"logFile":"logs/study/s-parley-n.jsonl","sessionId":"s-parley-n","stateReset":true}` {
		t.Errorf("the end says %s", got)
	}
}

// TestPlans: what is planned for the n-th call that goes well is done then, and once; what it undoes is as it was.
func TestPlans(t *testing.T) {
	const well = "tool.result@ state.updated"
	pick, next := `{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m1"}}}`, `{"type":"tool.call","id":"c","payload":{"toolName":"next","params":{}}}`
	p := host(t, false)
	p.plans = []*plan{{n: 2, do: func(p *play, _ *transcript.Record, id string) []any {
		p.undo()
		return []any{envelope(vocab.ErrorMessage, "", id, object{"code": "X"})}
	}}}
	p.respond(heard(`{"type":"session.start","payload":{}}`))
	for i, r := range []struct{ in, want string }{{next, "error:TOOL_EXECUTION_FAILED@"}, {pick, well}, {next, "error:X@"}, {next, well}} {
		if got := brief(p.respond(heard(r.in))); got != r.want {
			t.Errorf("call %d: %s, want %s", i+1, got, r.want)
		}
	}
	if p.at != 1 || p.went != 3 {
		t.Errorf("it is at stage %d behind %d calls", p.at, p.went)
	}
}

// TestPlansThatFit: a plan waits for a call that fits it, two plans are for two calls, and remarks stand around what is sent.
func TestPlansThatFit(t *testing.T) {
	pick, next := `{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m1"}}}`, `{"type":"tool.call","id":"c","payload":{"toolName":"next","params":{}}}`
	p := host(t, true)
	says := func(what string) func(*play, *transcript.Record, string) []any {
		return func(*play, *transcript.Record, string) []any {
			return []any{envelope("parley.one", "", "", object{}), envelope(what, "", "", object{})}
		}
	}
	p.plans = []*plan{{n: 1, fits: okAlone, do: says("parley.alone")}, {n: 1, do: says("parley.any")}}
	w := &wire{party: "agent1", t: p.t}
	for _, in := range []string{`{"type":"session.start","payload":{}}`, pick, pick, next} {
		p.on(t.Context(), w, heard(in))
	}
	var got []string
	for _, r := range p.t.All() {
		if r.Kind == transcript.Remark {
			got = append(got, map[string]string{string(planning): "(", string(planned): ")"}[r.Label])
			continue
		}
		got = append(got, kindOf(&r))
	}
	want := "session.started state.updated ( parley.one ) parley.any tool.result state.updated ( parley.one ) parley.alone"
	if strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestOkAlone(t *testing.T) {
	for _, r := range []struct {
		reason, tool string
		result       object
		want         bool
	}{
		{"ok alone", "next", object{"ok": true}, true},
		{"what is said", "postMessage", object{"ok": true}, true},
		{"a quick uiSpec", "next", object{"ok": true, "uiSpec": object{}}, false},
		{"another tool", "select", object{"ok": true}, false},
	} {
		if got := okAlone(object{"toolName": r.tool}, r.result); got != r.want {
			t.Errorf("%s: %v", r.reason, got)
		}
	}
}

// TestALostState: what an agent says does not bring the state that is lost; only asking does.
func TestALostState(t *testing.T) {
	p := host(t, true)
	p.plans = []*plan{{n: 1, do: func(p *play, _ *transcript.Record, _ string) []any { p.lost = true; return []any{p.result} }}}
	for i, r := range []struct{ in, want string }{
		{`{"type":"session.start","payload":{}}`, "session.started state.updated"},
		{`{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m1"}}}`, "tool.result@"},
		{`{"type":"agent.message","payload":{"text":"Well?"}}`, ""},
		{`{"type":"snapshot.get","id":"g","payload":{}}`, "snapshot.state@"},
		{`{"type":"agent.message","payload":{"text":"I see."}}`, "state.updated"},
	} {
		if got := brief(p.respond(heard(r.in))); got != r.want {
			t.Errorf("message %d: %q, want %q", i+1, got, r.want)
		}
	}
}

// TestHangUp: what was on its way when the play hung up is lost.
func TestHangUp(t *testing.T) {
	p := host(t, true)
	p.active = true
	p.plans = []*plan{{n: 1, do: func(p *play, _ *transcript.Record, _ string) []any { return []any{p.result, hangUp{}} }}}
	for _, text := range []string{`{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m1"}}}`, `{"type":"tool.call","id":"d","payload":{"toolName":"next","params":{}}}`} {
		p.t.Append(transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame, Bytes: []byte(text)})
	}
	p.attend(&wire{party: "agent1", t: p.t}, "agent1", 0)
	p.done.Wait() // it ends by itself
	if p.went != 1 || p.at != 0 {
		t.Errorf("%d calls went well, and it is at stage %d", p.went, p.at)
	}
	p.stop()
}

// TestMuchIsSaid: who floods the host makes no state longer than the one before.
func TestMuchIsSaid(t *testing.T) {
	p := host(t, true)
	p.active = true
	for i := range mostSaid + 3 {
		p.say("agent", i)
	}
	if first := p.history[0].(object)["text"]; len(p.history) != mostSaid || first != 3 {
		t.Errorf("%d things were said, from %v on", len(p.history), first)
	}
}

// TestStoppedAmidAFlood: what has come is not answered any more once the play is over.
func TestStoppedAmidAFlood(t *testing.T) {
	p := host(t, true)
	for range 100 {
		p.t.Append(transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame, Bytes: []byte(`{"type":"snapshot.get","payload":{}}`)})
	}
	p.end()
	p.attend(&wire{party: "agent1", t: p.t}, "agent1", 0)
	p.stop()
	if n := p.t.Len(); n != 100 {
		t.Errorf("%d messages were sent", n-100)
	}
}

// TestElsewhere: at another stage only those tools are announced that the stage before did not have, so that who goes by the
// state before is known by its call.
func TestElsewhere(t *testing.T) {
	for at, want := range map[int]string{0: "setQuantity prev", 1: "select", 2: "select", 3: "select"} {
		p := host(t, false)
		p.active, p.at = true, at
		p.elsewhere()
		var got []string
		for _, item := range p.state()["toolSchema"].([]any) {
			got = append(got, item.(object)["name"].(string))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("from stage %d: %v, want %s", at, got, want)
		}
		for _, tool := range p.flow.Stages[p.at].tools {
			if there := p.announced().Find(tool.Name) != nil; there != strings.Contains(want, tool.Name) {
				t.Errorf("from stage %d: %s is announced: %v", at, tool.Name, there)
			}
		}
		if len(got) > 0 {
			p.called("c", object{"toolName": got[0], "params": object{}}, func(string, string) []any { return nil })
		}
	}
}

// TestElsewhereIsHere: where no stage has a tool of its own, what leads on, and what was called last, are not announced.
func TestElsewhereIsHere(t *testing.T) {
	f, err := parseFlow("a flow", []byte(`stages: [{name: only, uiSpec: {}, toolSchema: [{name: pick}, {name: next}, {name: prev}], effects: {next: {go: 1}}}]`))
	if err != nil {
		t.Fatal(err)
	}
	p := newPlay(transcript.New(decode), f, "n")
	p.latest = "pick"
	p.elsewhere()
	if got := wjson.Compact(p.state()["toolSchema"]); got != `[{"name":"prev"}]` {
		t.Error(got)
	}
}

// TestWithdraw: what a call has asked for is announced no longer: the value of a param where others are left, or else the tool.
func TestWithdraw(t *testing.T) {
	for _, r := range []struct{ reason, tools, call, want string }{
		{"a value", `[{"name":"a","parameters":{"type":"object","properties":{"p":{"enum":["x","y"]}}}},{"name":"b"}]`, `{"toolName":"a","params":{"p":"x"}}`,
			`[{"name":"a","parameters":{"properties":{"p":{"enum":["y"]}},"type":"object"}},{"name":"b"}]`},
		{"a value of a flat map", `[{"name":"a","parameters":{"p":{"enum":[1,2]}}}]`, `{"toolName":"a","params":{"p":2}}`, `[{"name":"a","parameters":{"p":{"enum":[1]}}}]`},
		{"the second param has others", `[{"name":"a","parameters":{"p":{"enum":[1]},"q":{"enum":[1,2]}}}]`, `{"toolName":"a","params":{"p":1,"q":1}}`,
			`[{"name":"a","parameters":{"p":{"enum":[1]},"q":{"enum":[2]}}}]`},
		{"the only value", `[{"name":"a","parameters":{"p":{"enum":["x"]}}},{"name":"b"}]`, `{"toolName":"a","params":{"p":"x"}}`, `[{"name":"b"}]`},
		{"no values", `[{"name":"a"},{"name":"b"}]`, `{"toolName":"b","params":{}}`, `[{"name":"a"}]`},
		{"the only tool", `[{"name":"a"}]`, `{"toolName":"a","params":null}`, `[]`},
	} {
		f, err := parseFlow("a flow", []byte(`stages: [{name: only, uiSpec: {}, toolSchema: `+r.tools+`}]`))
		if err != nil {
			t.Fatal(err)
		}
		p := newPlay(transcript.New(decode), f, "n")
		p.withdraw(value(t, r.call).(object))
		if got := wjson.Compact(p.state()["toolSchema"]); got != r.want {
			t.Errorf("%s: %s, want %s", r.reason, got, r.want)
		}
		if got := wjson.Compact(f.Stages[0].ToolSchema); got != wjson.Compact(value(t, r.tools)) {
			t.Errorf("%s: the flow itself has become %s", r.reason, got)
		}
	}
}

// TestWindow: what is kept back from an agent is kept back the longer, the slower it was so far.
func TestWindow(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	at := func(n int, conn string, dir transcript.Dir, kind transcript.Kind) transcript.Record {
		return transcript.Record{At: ms(n), Conn: conn, Dir: dir, Kind: kind}
	}
	in, out, frame := transcript.Received, transcript.Sent, transcript.Frame
	for _, r := range []struct {
		reason string
		t      []transcript.Record
		want   int
	}{
		{"nothing is known of it", nil, 0},
		{"it joins", []transcript.Record{at(10, "agent1", in, transcript.Open), at(40, "agent1", in, frame)}, 30},
		{"it has said nothing yet", []transcript.Record{at(10, "agent1", in, transcript.Open)}, 0},
		{"the latest that it was told counts", []transcript.Record{at(10, "agent1", out, frame), at(50, "agent1", out, frame), at(60, "agent1", in, frame)}, 10},
		{"what it says by itself does not", []transcript.Record{at(10, "agent1", out, frame), at(15, "agent1", in, frame), at(90, "agent1", in, frame)}, 5},
		{"the slowest", []transcript.Record{at(10, "agent1", out, frame), at(50, "agent1", in, frame), at(60, "agent1", out, frame), at(61, "agent1", in, frame)}, 40},
		{"who is no agent", []transcript.Record{at(10, "", in, frame), at(50, "", out, frame), at(60, "", in, frame)}, 0},
	} {
		if got := slowest(r.t); got != ms(r.want) {
			t.Errorf("%s: %v, want %d ms", r.reason, got, r.want)
		}
	}
}

// TestJunk: every kind of junk that features have words for is sent, and any other is our own mistake.
func TestJunk(t *testing.T) {
	within(t, vocab.Agent, "", func(s *suite) error {
		for _, what := range []string{"malformed JSON", "an empty text", "a JSON array", "a JSON null", "a JSON number", "a JSON string", "a binary frame", "an unknown type",
			"an envelope without payload", "an envelope without type", "a presence message", "an answer to nobody", "what the participant says", "a state with extra members", "a long state"} {
			out, err := s.junk(what)
			if err != nil || len(out) == 0 {
				t.Errorf("%s: %v, %v", what, out, err)
			}
			for _, v := range out {
				switch v := v.(type) {
				case driver.Message:
					if rec := heard(string(v.Body)); rec.Event != nil {
						t.Errorf("%s is an envelope: %s", what, v.Body)
					}
				case func(*play) any:
					if env := v(host(t, true)).(object); kindOfObject(env) != vocab.StateUpdated || env["payload"].(object)["parleyExtra"] == nil {
						t.Errorf("%s: %s", what, clip(wjson.Compact(env), 300))
					}
				default:
					if _, err := message(v); err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
		}
		if out, err := s.junk("a smile"); err == nil {
			t.Errorf("a smile is %v", out)
		}
		return nil
	})
}

// wire is a connection that keeps what is sent.
type wire struct {
	party string
	t     *transcript.Transcript
	mu    sync.Mutex
	gone  bool
}

func (w *wire) Send(_ context.Context, m driver.Message) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return 0, driver.ErrClosed
	}
	return w.t.Append(transcript.Record{Conn: w.party, Dir: transcript.Sent, Kind: transcript.Frame, Bytes: m.Body}), nil
}

func (w *wire) Close(driver.CloseMode) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	return nil
}

// TestTwoConnections: a play answers on the connection on which it is asked, and pushes on the latest; it ends with its
// connections, or when it is stopped.
func TestTwoConnections(t *testing.T) {
	p := host(t, true)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	hear := func(party, text string) int {
		return p.t.Append(transcript.Record{Conn: party, Dir: transcript.Received, Kind: transcript.Frame, Bytes: []byte(text)})
	}
	await := func(party, kind string, after int) transcript.Record {
		t.Helper()
		rec, err := p.t.Await(ctx, after, func(r *transcript.Record) bool {
			return r.Conn == party && r.Dir == transcript.Sent && kindOf(r) == kind
		})
		if err != nil {
			t.Fatalf("no %s on %s: %v", kind, party, err)
		}
		return rec
	}
	one, two := &wire{party: "agent1", t: p.t}, &wire{party: "agent2", t: p.t}
	p.push(ctx, func() []any { return []any{p.updated()} }) // to nobody
	if p.t.Len() != 0 {
		t.Error("what is pushed to nobody is sent")
	}
	p.attend(one, "agent1", 0)
	await("agent1", vocab.RelayJoined, hear("agent1", `{"type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"x"}}`))
	await("agent1", vocab.SessionStarted, hear("agent1", `{"type":"session.start","id":"s","payload":{}}`))
	p.attend(two, "agent2", p.t.Len())
	await("agent2", vocab.SnapshotState, hear("agent2", `{"type":"snapshot.get","id":"g2","payload":{}}`))
	if rec := await("agent1", vocab.SnapshotState, hear("agent1", `{"type":"snapshot.get","id":"g1","payload":{}}`)); field(&rec, "replyTo") != "g1" {
		t.Errorf("the first connection is told %s", rec.Bytes)
	}
	from := p.t.Len()
	p.push(ctx, func() []any { return []any{envelope(vocab.UserMessage, "", "", object{"text": "Hi"})} })
	await("agent2", vocab.UserMessage, from)
	p.t.Append(transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Closed})
	await("agent2", vocab.SnapshotState, hear("agent2", `{"type":"snapshot.get","id":"g3","payload":{}}`))

	from = p.t.Len()
	p.on(ctx, two, heard(`no JSON`))
	rec := await("agent2", vocab.ErrorMessage, from)
	if payload(&rec)["code"] != vocab.InvalidMessage {
		t.Errorf("no JSON is answered by %s", rec.Bytes)
	}
	p.mu.Lock()
	p.send(ctx, two, hangUp{})
	p.send(ctx, two, p.updated()) // to nobody, which is told by the transcript
	p.send(ctx, two, time.Nanosecond)
	p.mu.Unlock()
	p.stop()
	p.stop()
}

// TestOnState: what is sent behind the n-th state comes at once behind it.
func TestOnState(t *testing.T) {
	p := host(t, true)
	var asked []int
	p.onState = func(n int) []any {
		asked = append(asked, n)
		return []any{driver.Message{Body: []byte("junk")}}
	}
	w := &wire{party: "agent1", t: p.t}
	for _, in := range []string{`{"type":"session.start","payload":{}}`, `{"type":"snapshot.get","payload":{}}`, `{"type":"agent.message","payload":{"text":"Hi"}}`} {
		p.on(t.Context(), w, heard(in))
	}
	var got []string
	for _, r := range p.t.All() {
		got = append(got, kindOf(&r)+string(r.Bytes[:1]))
	}
	if want := "session.started{ state.updated{ j snapshot.state{ state.updated{ j"; strings.Join(got, " ") != want || len(asked) != 2 || asked[1] != 2 {
		t.Errorf("%v, asked %v; want %s", got, asked, want)
	}
}

// TestNotRunnable: what a profile does not say is the reason why a scenario does not run.
func TestNotRunnable(t *testing.T) {
	for _, r := range []struct {
		reason, role string
		tags         []string
		change       func(*target.Profile)
		has          string
	}{
		{"a booking", vocab.Host, []string{"@host", "@booking"}, func(*target.Profile) {}, ""},
		{"no booking", vocab.Host, []string{"@booking"}, func(p *target.Profile) { p.ExternalAgent.Booking = nil }, "external-agent.booking"},
		{"no booking of a relay's", vocab.Relay, []string{"@booking"}, func(p *target.Profile) { p.ExternalAgent.Booking = nil }, ""},
		{"no logs", vocab.Host, []string{"@log"}, func(*target.Profile) {}, "external-agent.logs"},
		{"logs", vocab.Host, []string{"@log"}, func(p *target.Profile) { p.ExternalAgent.Logs = "logs" }, ""},
		{"neither is needed", vocab.Host, []string{"@EA-041"}, func(p *target.Profile) { p.ExternalAgent.Booking = nil }, ""},
	} {
		env := &steps.Env{Profile: target.DefaultFor(vocab.Protocol), Role: r.role}
		r.change(env.Profile)
		if got := (Protocol{}).NotRunnable(env, r.tags); (got == "") != (r.has == "") || !strings.Contains(got, r.has) {
			t.Errorf("%s: %q", r.reason, got)
		}
	}
}

// TestFitted: params that fit what was announced before are those of who goes by the old state; params that fit nothing are not.
func TestFitted(t *testing.T) {
	within(t, vocab.Agent, "", func(s *suite) error {
		for _, kind := range []string{"string", "integer"} {
			b := mustEncode(envelope(vocab.StateUpdated, "", "", object{"toolSchema": []any{object{"name": "select", "parameters": object{"itemId": kind}}}}))
			s.T.Append(transcript.Record{Conn: "agent1", Dir: transcript.Sent, Kind: transcript.Frame, Bytes: b})
		}
		for _, r := range []struct {
			reason, tool, params string
			before               int
			want                 bool
		}{
			{"the state before", "select", `{"itemId":"m1"}`, 2, true},
			{"no state before it", "select", `{"itemId":"m1"}`, 1, false},
			{"the latest state", "select", `{"itemId":7}`, 2, false},
			{"no state at all", "select", `{"itemId":[]}`, 3, false},
			{"another tool", "next", `{}`, 3, false},
		} {
			if got := s.fitted(r.tool, value(t, r.params), r.before); got != r.want {
				t.Errorf("%s: %v", r.reason, got)
			}
		}
		return nil
	})
}

// TestVet: a profile whose flow is faulty is told so before anything runs.
func TestVet(t *testing.T) {
	p := target.DefaultFor(vocab.Protocol)
	if err := (Protocol{}).Vet(p); err != nil {
		t.Error(err)
	}
	p.ExternalAgent.Flow = "none.yaml"
	if err := (Protocol{}).Vet(p); err == nil || !strings.Contains(err.Error(), "external-agent.flow") {
		t.Error(err)
	}
}
