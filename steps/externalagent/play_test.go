package externalagent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// host returns a play of the built-in flow, for messages given one after the other.
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

// brief summarises what a play sends: types with codes, or the content of a tool.result.
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
		p, _ := env[vocab.Payload].(object)
		if code, ok := p[vocab.Code].(string); ok {
			word += ":" + code
		}
		if env[vocab.ReplyTo] != nil {
			word += "@"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// TestPlay checks the answers of the played host from the first message to the last.
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
		{call("next", `{}`), "error:TOOL_EXECUTION_FAILED@"}, // the stage starts again
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

// TestPlayAsAHostOnly checks that beside a relay the play leaves joining and errors to the relay.
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

// TestWhatThePlayShows checks that the effect of a call shows in its result and in the state after it, and that
// nothing carries over to the next session.
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
	if got := wjson.Compact(p.state()[vocab.MessageHistory]); got != `[{"role":"agent","text":"Hi"}]` {
		t.Errorf("messageHistory is %s", got)
	}
	p.respond(heard(`{"type":"session.start","id":"s","payload":{}}`))
	if got := wjson.Compact([]any{p.state()[vocab.MessageHistory], p.ui.(object)["selected"]}); got != `[[],[]]` {
		t.Errorf("a new session begins with %s", got)
	}
	ended := p.respond(heard(`{"type":"session.end","id":"e","payload":{}}`))
	if got := wjson.Compact(ended[0].(object)[vocab.Payload]); got != `{"logFile":"logs/study/s-parley-n.jsonl",`+
		`"sessionId":"s-parley-n","stateReset":true}` {
		t.Errorf("the end says %s", got)
	}
}

// TestMuchIsSaid checks that flooding the host does not make states longer and longer.
func TestMuchIsSaid(t *testing.T) {
	p := host(t, true)
	p.active = true
	for i := range mostSaid + 3 {
		p.say("agent", i)
	}
	if first := p.history[0].(object)[vocab.Text]; len(p.history) != mostSaid || first != 3 {
		t.Errorf("%d things were said, from %v on", len(p.history), first)
	}
}

// TestStoppedAmidAFlood checks that pending messages are not answered once the play is over.
func TestStoppedAmidAFlood(t *testing.T) {
	p := host(t, true)
	for range 100 {
		p.t.Append(transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame,
			Bytes: []byte(`{"type":"snapshot.get","payload":{}}`)})
	}
	p.end()
	p.attend(&wire{party: "agent1", t: p.t}, "agent1", 0)
	p.stop()
	if n := p.t.Len(); n != 100 {
		t.Errorf("%d messages were sent", n-100)
	}
}

// wire is a connection that records what is sent.
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

// TestTwoConnections checks that a play answers on the connection of the request and pushes on the latest one, and
// that it ends with its connections or when stopped.
func TestTwoConnections(t *testing.T) {
	p := host(t, true)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	hear := func(party, text string) int {
		return p.t.Append(transcript.Record{Conn: party, Dir: transcript.Received, Kind: transcript.Frame,
			Bytes: []byte(text)})
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
	p.push(ctx, func(p *play) any { return p.updated() }) // no connection
	if p.t.Len() != 0 {
		t.Error("what is pushed to nobody is sent")
	}
	p.attend(one, "agent1", 0)
	await("agent1", vocab.RelayJoined, hear("agent1",
		`{"type":"relay.join","id":"j","payload":{"role":"agent","sessionId":"x"}}`))
	await("agent1", vocab.SessionStarted, hear("agent1", `{"type":"session.start","id":"s","payload":{}}`))
	p.attend(two, "agent2", p.t.Len())
	await("agent2", vocab.SnapshotState, hear("agent2", `{"type":"snapshot.get","id":"g2","payload":{}}`))
	if rec := await("agent1", vocab.SnapshotState, hear("agent1",
		`{"type":"snapshot.get","id":"g1","payload":{}}`)); field(&rec, vocab.ReplyTo) != "g1" {
		t.Errorf("the first connection is told %s", rec.Bytes)
	}
	from := p.t.Len()
	p.push(ctx, func(*play) any { return userSays("Hi", "time") })
	await("agent2", vocab.UserMessage, from)
	p.t.Append(transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Closed})
	await("agent2", vocab.SnapshotState, hear("agent2", `{"type":"snapshot.get","id":"g3","payload":{}}`))

	from = p.t.Len()
	p.on(ctx, two, heard(`no JSON`))
	rec := await("agent2", vocab.ErrorMessage, from)
	if payload(&rec)[vocab.Code] != vocab.InvalidMessage {
		t.Errorf("no JSON is answered by %s", rec.Bytes)
	}
	p.mu.Lock()
	p.send(ctx, two, hangUp{})
	p.send(ctx, two, p.updated()) // on a closed connection, which the transcript records
	p.send(ctx, two, time.Nanosecond)
	p.mu.Unlock()
	p.stop()
	p.stop()
}

// TestAfterTheFirstState checks that messages planned after the first state come right after it, and once.
func TestAfterTheFirstState(t *testing.T) {
	p := host(t, true)
	p.afterFirst = func() []any { return []any{driver.Message{Body: []byte("junk")}} }
	w := &wire{party: "agent1", t: p.t}
	for _, in := range []string{`{"type":"session.start","payload":{}}`, `{"type":"snapshot.get","payload":{}}`,
		`{"type":"agent.message","payload":{"text":"Hi"}}`} {
		p.on(t.Context(), w, heard(in))
	}
	var got []string
	for _, r := range p.t.All() {
		got = append(got, kindOf(&r)+string(r.Bytes[:1]))
	}
	if want := "session.started{ state.updated{ j snapshot.state{ state.updated{"; strings.Join(got, " ") != want {
		t.Errorf("%v; want %s", got, want)
	}
}

// TestNotRunnable checks that the reason for not running a scenario names what the profile lacks.
func TestNotRunnable(t *testing.T) {
	for _, r := range []struct {
		reason, role string
		tags         []string
		change       func(*target.Profile)
		has          string
	}{
		{"a booking", vocab.Host, []string{"@host", "@booking"}, func(*target.Profile) {}, ""},
		{"no booking", vocab.Host, []string{"@booking"}, func(p *target.Profile) {
			binding.Of(p).Booking = nil
		}, "external-agent.booking"},
		{"no booking of a relay's", vocab.Relay, []string{"@booking"}, func(p *target.Profile) {
			binding.Of(p).Booking = nil
		}, ""},
		{"no logs", vocab.Host, []string{"@log"}, func(*target.Profile) {}, "external-agent.logs"},
		{"logs", vocab.Host, []string{"@log"}, func(p *target.Profile) { binding.Of(p).Logs = "logs" }, ""},
		{"neither is needed", vocab.Host, []string{"@EA-041"}, func(p *target.Profile) { binding.Of(p).Booking = nil }, ""},
	} {
		env := &steps.Env{Profile: binding.Kind().New(), Role: r.role}
		r.change(env.Profile)
		if got := (Protocol{}).NotRunnable(env, r.tags); (got == "") != (r.has == "") || !strings.Contains(got, r.has) {
			t.Errorf("%s: %q", r.reason, got)
		}
	}
}

// TestVet checks that a faulty flow is reported before anything runs.
func TestVet(t *testing.T) {
	p := binding.Kind().New()
	if err := (Protocol{}).Vet(p); err != nil {
		t.Error(err)
	}
	binding.Of(p).Flow = "none.yaml"
	if err := (Protocol{}).Vet(p); err == nil || !strings.Contains(err.Error(), "external-agent.flow") {
		t.Error(err)
	}
}
