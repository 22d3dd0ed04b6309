package externalagent

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cucumber/godog"

	"parley/features"
	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// bad gives a peer a fault: it changes what is about to be sent because of a message.
type bad func(c *peerConn, asked *transcript.Record, out []any) []any

// peer is a relay and host in one, and the driver to it. It follows the built-in flow and answers every message
// before Send returns, so that no test needs to wait.
type peer struct {
	target.Running // for methods that scenarios do not use
	bad            bad
	logs           string              // the folder of logs; "": none
	line           func(object) object // changes a line of the log; nil omits it
	appends        bool                // all sessions are appended to one file
	study          string              // the id of every session; "": unique ids

	mu       sync.Mutex
	conns    []*peerConn
	sessions map[string]*play
	files    map[string][]object // log lines by relay session
	count    int                 // number of study sessions
}

func (p *peer) BaseURL() string { return "http://h" }

// Stderr implements target.Running.
func (p *peer) Stderr() string { return "" }
func (p *peer) Name() string   { return target.WS }

func (p *peer) Open(_ context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &peerConn{of: p, party: o.Party, sink: sink, open: true}
	p.conns = append(p.conns, c)
	sink(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Open, Status: 101})
	return c, nil
}

// Restart implements target.Running.
func (p *peer) Restart(context.Context, bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.hangUp()
	}
	p.sessions = nil
	return nil
}

// Say implements target.Speaker.
func (p *peer) Say(_ context.Context, session, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []any{envelope(vocab.UserMessage, "", "", object{"text": text, "stage": "movie"})}
	for _, c := range p.conns {
		if c.session == session && c.open {
			c.answer(nil, out)
			return nil
		}
	}
	return nil
}

// LogFolder implements target.LogKeeper.
func (p *peer) LogFolder() (string, error) {
	if p.logs == "" {
		return "", &target.NotDeclaredError{Key: "external-agent.logs"}
	}
	return p.logs, nil
}

type peerConn struct {
	of      *peer
	party   string
	session string // relay session; "" before the join
	sink    driver.Sink
	open    bool
}

func (c *peerConn) Send(_ context.Context, m driver.Message) (int, error) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.open {
		return 0, driver.ErrClosed
	}
	r := transcript.Record{Conn: c.party, Dir: transcript.Sent, Kind: transcript.Frame, Type: "text", Label: m.Label,
		Bytes: m.Body}
	n := c.sink(r)
	decode(&r)
	c.answer(&r, c.respond(&r))
	return n, nil
}

func (c *peerConn) Close(driver.CloseMode) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.open = false
	return nil
}

// respond returns the answers of a conformant relay and host.
func (c *peerConn) respond(r *transcript.Record) []any {
	invalid := func(code, why string) []any {
		return []any{envelope(vocab.ErrorMessage, "", field(r, vocab.ID), object{"code": code, "message": why})}
	}
	switch {
	case r.Event == nil || field(r, vocab.V) != vocab.Version || payload(r) == nil:
		return invalid(vocab.InvalidMessage, "no envelope")
	case kindOf(r) == vocab.RelayJoin:
		c.session, _ = payload(r)[vocab.SessionID].(string)
	case c.session == "":
		return invalid(vocab.SessionNotActive, "join first")
	}
	pl := c.of.sessions[c.session]
	if pl == nil {
		f, err := loadFlow("")
		if err != nil {
			panic(err)
		}
		pl = newPlay(transcript.New(nil), f, "")
		pl.relay = true
		if c.of.sessions == nil {
			c.of.sessions, c.of.files = map[string]*play{}, map[string][]object{}
		}
		c.of.sessions[c.session] = pl
	}
	if kindOf(r) == vocab.SessionStart {
		c.of.count++
		if pl.study = c.of.study; pl.study == "" {
			pl.study = fmt.Sprintf("s-20260213-%03d", c.of.count)
		}
		c.of.files[c.session] = nil
	}
	return pl.respond(r)
}

// hangUp ends the connection from the target's side.
func (c *peerConn) hangUp() {
	if c.open {
		c.open = false
		c.sink(transcript.Record{Conn: c.party, Dir: transcript.Received, Kind: transcript.Closed,
			Label: "closed by the target", Status: 1001})
	}
}

// answer sends answers on the connection of the message, and everything else to all parties in the relay session.
func (c *peerConn) answer(asked *transcript.Record, out []any) {
	if c.of.bad != nil {
		out = c.of.bad(c, asked, out)
	}
	if asked != nil && asked.Event != nil {
		c.log("in", kindOf(asked), payload(asked))
	}
	for _, v := range out {
		if _, ok := v.(hangUp); ok {
			c.hangUp()
			continue
		}
		var bytes []byte
		env, ok := v.(object)
		if ok {
			bytes = []byte(wjson.Compact(env))
			c.log("out", kindOfObject(env), env[vocab.Payload])
			if kindOfObject(env) == vocab.SessionEnded {
				c.writeLog(env[vocab.Payload])
			}
		} else {
			bytes = []byte(v.(string))
		}
		_, named := env[vocab.ReplyTo]
		for _, other := range c.of.conns {
			if other == c || ok && !named && kindOfObject(env) != vocab.ErrorMessage && other.session == c.session &&
				c.session != "" {
				other.say(bytes)
			}
		}
	}
}

func (c *peerConn) say(b []byte) {
	if c.open {
		c.sink(transcript.Record{Conn: c.party, Dir: transcript.Received, Kind: transcript.Frame, Type: "text", Bytes: b})
	}
}

// is reports whether a message has a type.
func is(kind string, v any) bool { return kindOfObject(v) == kind }

// edit changes the payloads of one type.
func edit(kind string, f func(payload object)) bad {
	return func(_ *peerConn, _ *transcript.Record, out []any) []any {
		for i, v := range out {
			if is(kind, v) {
				env := copied(v).(object)
				f(env[vocab.Payload].(object))
				out[i] = env
			}
		}
		return out
	}
}

// editEnvelope changes the messages of one type.
func editEnvelope(kind string, f func(env object)) bad {
	return func(_ *peerConn, _ *transcript.Record, out []any) []any {
		for i, v := range out {
			if is(kind, v) {
				env := copied(v).(object)
				f(env)
				out[i] = env
			}
		}
		return out
	}
}

// mute drops the messages of one type.
func mute(kind string) bad {
	return func(_ *peerConn, _ *transcript.Record, out []any) []any {
		var left []any
		for _, v := range out {
			if !is(kind, v) {
				left = append(left, v)
			}
		}
		return left
	}
}

// to changes the answers to one type of message.
func to(kind string, f func(c *peerConn, asked *transcript.Record, out []any) []any) bad {
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		if asked == nil || kindOf(asked) != kind {
			return out
		}
		return f(c, asked, out)
	}
}

// refuses answers one type of message with an error.
func refuses(kind, code string) bad {
	return to(kind, func(_ *peerConn, asked *transcript.Record, _ []any) []any {
		return []any{envelope(vocab.ErrorMessage, "", field(asked, vocab.ID), object{"code": code, "message": "no"})}
	})
}

// nothing leaves one type of message unanswered.
func nothing(kind string) bad {
	return to(kind, func(*peerConn, *transcript.Record, []any) []any { return nil })
}

// hangsUp closes the connection after the answer to one type of message.
func hangsUp(kind string) bad {
	return to(kind, func(_ *peerConn, _ *transcript.Record, out []any) []any { return append(out, hangUp{}) })
}

// announced returns a state.updated with the state of a connection's relay session.
func announced(c *peerConn) object { return c.of.sessions[c.session].updated() }

// ticking is a host with a clock in its uiSpec.
func ticking() bad {
	n := 0
	tick := func(p object) {
		if ui, ok := p[vocab.Spec].(object); ok {
			n++
			ui["clock"] = wjson.Number(fmt.Sprint(n))
		}
	}
	return all(edit(vocab.SnapshotState, tick), edit(vocab.StateUpdated, tick))
}

// behind applies a fault once a message of a type has come.
func behind(kind string, f bad) bad {
	come := false
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		come = come || asked != nil && kindOf(asked) == kind
		if !come {
			return out
		}
		return f(c, asked, out)
	}
}

// all combines several faults.
func all(list ...bad) bad {
	return func(c *peerConn, asked *transcript.Record, out []any) []any {
		for _, f := range list {
			out = f(c, asked, out)
		}
		return out
	}
}

// ledger is parsed once: it has a clause for every line of the document.
var ledger = sync.OnceValues(func() (*verdict.Ledger, error) { return features.Ledger(vocab.Protocol) })

// soon is the most that scripted peers need: they answer at once, so everything has been sent before a step begins to
// wait.
const soon = 10 * time.Millisecond

// environment returns the environment of a run against a target of a role, with short limits.
func environment(t *testing.T, role string, d driver.Driver) *steps.Env {
	t.Helper()
	clauses, err := ledger()
	if err != nil {
		t.Fatal(err)
	}
	f, err := loadFlow("")
	if err != nil {
		t.Fatal(err)
	}
	env := &steps.Env{Profile: binding.Kind().New(), Role: role, Driver: d, Ledger: clauses}
	env.Profile.Limits.Event.Duration, env.Profile.Limits.Quiet.Duration = soon, soon
	binding.Of(env.Profile).Booking = f.Booking
	binding.Of(env.Profile).Provoke.ToolFailure.Assumed = false
	return env
}

// perform runs the lines of one scenario.
func perform(t *testing.T, env *steps.Env, run target.Running, tags, lines string) steps.Result {
	t.Helper()
	return performAs(t, Protocol{}, env, run, tags, lines)
}

func performAs(
	t *testing.T, protocol steps.Protocol, env *steps.Env, run target.Running, tags, lines string,
) steps.Result {
	t.Helper()
	var got []steps.Result
	s := &steps.Suite{
		Protocol: protocol,
		Env:      env,
		Begin:    func(context.Context, *godog.Scenario) steps.Slot { return steps.Slot{Run: run, Nonce: "n"} },
		Done:     func(r steps.Result) { got = append(got, r) },
	}
	text := "Feature: f\n" + tags + "\nScenario: s\n" + lines + "\n"
	godog.TestSuite{ScenarioInitializer: s.Initialize,
		Options: &godog.Options{FS: fstest.MapFS{"f.feature": {Data: []byte(text)}},
			Paths: []string{"f.feature"}, Format: "progress", Output: io.Discard, NoColors: true, Strict: true}}.Run()
	if len(got) != 1 {
		t.Fatalf("%d scenarios were run", len(got))
	}
	return got[0]
}

// expect compares the result of a scenario with the outcome of each clause, in the form "EA-041=passed
// EA-042=failed". If has is not "", the reason of the scenario or one of its failures must contain it.
func expect(t *testing.T, got steps.Result, clauses, has string) {
	t.Helper()
	outcomes := map[string]string{}
	var told strings.Builder
	fmt.Fprintf(&told, "%s: %s\n%s\n", got.Outcome, got.Reason, strings.Join(got.Notes, "\n"))
	for _, c := range got.Clauses {
		outcomes[c.Clause] = string(c.Outcome)
		fmt.Fprintf(&told, "%s %s: %s\n", c.Clause, c.Outcome, c.Reason)
	}
	for _, f := range got.Failures {
		fmt.Fprintf(&told, "%s at %d: expected %s; observed %s\n%s\n", f.Clause, f.At, f.Expected, f.Observed, f.Diff)
	}
	for word := range strings.FieldsSeq(clauses) {
		id, want, _ := strings.Cut(word, "=")
		if outcomes[id] != want {
			t.Errorf("%s is %s, want %s", id, outcomes[id], want)
		}
	}
	if !strings.Contains(told.String(), has) {
		t.Errorf("nothing says %q", has)
	}
	for _, f := range got.Failures {
		if f.Expected == "" || f.Observed == "" || f.At < 0 || len(got.Records) > 0 && f.At > len(got.Records) {
			t.Errorf("a failure says too little: %+v", f)
		}
	}
	if t.Failed() {
		t.Logf("\n%s", told.String())
	}
}

// tagsOf returns the tags of the clauses in an expectation.
func tagsOf(clauses string) string {
	var tags []string
	for word := range strings.FieldsSeq(clauses) {
		id, _, _ := strings.Cut(word, "=")
		tags = append(tags, "@"+id)
	}
	return strings.Join(tags, " ")
}

// broken lists the clauses that monitors find broken.
func broken(got steps.Result) []string {
	var out []string
	for _, f := range got.Failures {
		if f.Monitor != "" {
			out = append(out, f.Clause)
		}
	}
	return out
}

// refusing is a driver whose connections all fail.
type refusing struct {
	*peer
	err error
}

func (r refusing) Open(context.Context, driver.OpenOptions, driver.Sink) (driver.Conn, error) {
	return nil, r.err
}
