package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/driver"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/toolschema"
	"parley/transcript"
	wjson "parley/wire/json"
)

// play is the host that the harness plays: a booking flow, on one connection at a time. Where the target is an agent it
// plays the relay too. It answers from a goroutine of its own; steps read the transcript, and tell it beforehand what
// it is to do otherwise than by the flow.
type play struct {
	t     *transcript.Transcript
	flow  *flow
	relay bool // it answers relay.join
	study string

	mu      sync.Mutex
	conn    driver.Conn
	left    driver.Conn // the latest that it has ended itself
	active  bool
	at      int // index of the stage; len(flow.Stages) once the booking is done
	ui      any // the stage's uiSpec as it is now
	history []any
	narrow  []any  // announced in place of the stage's toolSchema; nil: that
	went    int    // how many calls have gone well
	result  object // of the latest of them
	latest  string // its tool
	undo    func() // takes the effect of the latest call back
	plans   []*plan
	joined  bool                      // it has told somebody so
	joins   func(answer object) []any // in place of relay.joined
	first   func() []any              // what else is sent before the first state.updated
	behind  func() []any              // and behind it
	states  int
	lost    bool // the state behind the latest call is lost, until it is asked for

	over context.Context // until stop
	end  context.CancelFunc
	done sync.WaitGroup
}

// plan is what the host does otherwise than by its flow: at the first call that goes well and fits, from the n-th on.
// do gives what is sent. It is called once the call has had its effect.
type plan struct {
	n    int
	fits func(call, result object) bool // nil: any call does
	do   func(turn) []any
	made bool
}

// mostSaid is how much of what was said is kept: who floods the host must not make each state longer than the one
// before.
const mostSaid = 500

func newPlay(t *transcript.Transcript, f *flow, nonce string) *play {
	p := &play{t: t, flow: f, study: "s-parley-" + nonce}
	p.over, p.end = context.WithCancel(context.Background())
	p.reset()
	return p
}

// reset begins the booking anew. The caller holds the lock, or nobody else has the play yet.
func (p *play) reset() {
	p.at, p.history, p.narrow, p.lost = 0, []any{}, nil, false
	p.ui = copied(p.flow.Stages[0].UISpec)
}

// attend answers what comes on a connection until that ends. It returns at once.
func (p *play) attend(conn driver.Conn, name string, from int) {
	p.mu.Lock()
	p.conn = conn
	p.mu.Unlock()
	p.done.Go(func() {
		for {
			rec, err := p.t.Await(p.over, from, func(r *transcript.Record) bool {
				return r.Conn == name && r.Dir == transcript.Received && (r.Kind == transcript.Frame || closed(r))
			})
			if err != nil || closed(&rec) || p.over.Err() != nil { // what has come before the end is found behind it, too
				return
			}
			from = rec.N
			p.on(p.over, conn, &rec)
			if p.hasLeft(conn) { // what was on its way is lost with the connection
				return
			}
		}
	})
}

// hasLeft reports whether the play itself has ended a connection.
func (p *play) hasLeft(conn driver.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == conn
}

// stop ends the play and waits for it.
func (p *play) stop() {
	p.end()
	p.done.Wait()
}

// on answers one frame.
func (p *play) on(ctx context.Context, conn driver.Conn, r *transcript.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.respond(r) {
		for _, v := range p.around(v) {
			p.send(ctx, conn, v)
		}
	}
}

// around is what is sent with a message: more before the first state.updated, and behind it.
func (p *play) around(v any) []any {
	out := []any{v}
	if kindOfObject(v) != vocab.StateUpdated {
		return out
	}
	if p.states++; p.states > 1 {
		return out
	}
	if p.first != nil {
		out = asPlanned(append(p.first(), v))
	}
	if p.behind != nil {
		out = append(out, p.behind()...)
	}
	return out
}

// remark stands among what is sent for a remark in the transcript.
type remark string

const (
	// planning is the remark in front of what a scenario has planned.
	planning remark = "the host does what the scenario asks of it"
	// planned is the remark before the last message of it: whoever answers that does so behind the remark.
	planned remark = "the host has done what the scenario asks of it"
)

// asPlanned puts the remarks among what a plan sends.
func asPlanned(out []any) []any {
	last := len(out) - 1
	return append(append(append([]any{planning}, out[:last]...), planned), out[last])
}

// hangUp stands among what is sent for the loss of the connection.
type hangUp struct{}

// send sends an envelope or raw bytes. A duration is a pause, in which the other side has nothing to go by.
func (p *play) send(ctx context.Context, conn driver.Conn, v any) {
	var m driver.Message
	var err error
	switch v := v.(type) {
	case driver.Message:
		m = v
	case hangUp:
		p.left = conn
		_ = conn.Close(driver.Reset)
		return
	case remark:
		p.t.Remark("", "%s", string(v))
		return
	case time.Duration:
		pause, cancel := deadline.WithLimit(ctx, v)
		_, _ = p.t.Await(pause, p.t.Len(), func(*transcript.Record) bool { return false })
		cancel()
		return
	default:
		m, err = message(v)
	}
	if err != nil {
		panic(err) // an envelope of ours
	}
	_, _ = conn.Send(ctx, m) // a connection that is gone is told by the transcript
}

func kindOfObject(v any) string {
	o, _ := v.(object)
	k, _ := o["type"].(string)
	return k
}

// respond says what is sent because of one frame, in order.
func (p *play) respond(r *transcript.Record) []any {
	kind, id := kindOf(r), field(r, "id")
	body := payload(r)
	fail := func(code, text string) []any {
		return []any{envelope(vocab.ErrorMessage, "", id, object{"code": code, "message": text})}
	}
	switch {
	case kind == vocab.RelayJoined || !p.relay && ofRelay(r):
		return nil
	case body == nil:
		return fail(vocab.InvalidMessage, "no envelope with a payload that is an object")
	case kind == vocab.RelayJoin && p.relay:
		p.joined = true
		answer := envelope(vocab.RelayJoined, "", id, object{"role": body["role"], "sessionId": body["sessionId"]})
		if p.joins != nil {
			return p.joins(answer)
		}
		return []any{answer}
	case !p.active && slices.Contains(inSession, kind):
		return []any{envelope(vocab.ErrorMessage, "", id, notActive)}
	}
	switch kind {
	case vocab.SessionStart:
		p.active = true
		p.reset()
		return []any{envelope(vocab.SessionStarted, "", id, object{"sessionId": p.study}), p.updated()}
	case vocab.SnapshotGet:
		p.lost = false
		s := p.state()
		s["sessionId"] = p.study
		return []any{envelope(vocab.SnapshotState, "", id, s)}
	case vocab.ToolCall:
		return p.call(id, body, fail)
	case vocab.AgentMessage:
		if p.say("agent", body["text"]); p.lost {
			return nil
		}
		return []any{p.updated()}
	case vocab.SessionEnd:
		p.active = false
		p.reset()
		return []any{envelope(vocab.SessionEnded, "", id, object{
			"sessionId": p.study, "logFile": "logs/study/" + p.study + ".jsonl", "stateReset": true,
		})}
	}
	return fail(vocab.InvalidMessage, "unknown type "+kind)
}

// ofRelay reports whether a message may be the relay's own, to the party that the play is: an error, who is there, or
// what else a relay tells unasked. Nobody waits for an answer to that.
func ofRelay(r *transcript.Record) bool {
	kind := kindOf(r)
	if kind == vocab.ErrorMessage || strings.HasPrefix(kind, "relay.") {
		return true
	}
	known := kind == "" || kind == vocab.SessionStart || slices.Contains(inSession, kind)
	return !known && field(r, "id") == ""
}

// inSession are the requests that take a session.
var inSession = []string{vocab.SnapshotGet, vocab.ToolCall, vocab.AgentMessage, vocab.SessionEnd}

// notActive is the error where there is none.
var notActive = object{"code": vocab.SessionNotActive, "message": "no session has been started"}

// call answers a tool.call by the flow, unless a scenario has planned otherwise for it.
func (p *play) call(id string, body object, fail func(code, text string) []any) []any {
	at, ui, history, narrow := p.at, p.ui, p.history, p.narrow
	p.undo = func() { p.at, p.ui, p.history, p.narrow = at, ui, history, narrow }
	out := p.called(id, body, fail)
	if kindOfObject(out[0]) != vocab.ToolResult {
		return out
	}
	p.went++
	p.result, p.lost = out[0].(object), false
	p.latest, _ = body["toolName"].(string)
	for _, pl := range p.plans {
		if !pl.made && pl.n <= p.went && (pl.fits == nil || pl.fits(body, p.result["payload"].(object))) {
			pl.made = true
			return asPlanned(pl.do(turn{p, body, id}))
		}
	}
	if p.at == len(p.flow.Stages) {
		p.t.Remark("", "%s", booked)
	}
	return out
}

// booked is the remark by which the host tells that the flow has been gone through.
const booked = "the booking is done"

func (p *play) called(id string, body object, fail func(code, text string) []any) []any {
	name, _ := body["toolName"].(string)
	if p.at == len(p.flow.Stages) {
		return fail(vocab.NoActiveSpec, "the booking is done")
	}
	st := p.flow.Stages[p.at]
	t := p.announced().Find(name)
	if t == nil {
		return fail(vocab.UnknownTool, fmt.Sprintf("%q is not announced at stage %s", name, st.Name))
	}
	if err := t.Accepts(body["params"]); err != nil {
		return fail(vocab.InvalidParams, err.Error())
	}
	params, _ := body["params"].(object)
	e := st.Effects[name]
	if e.Needs != "" {
		if _, ok := wjson.Lookup(p.ui, e.Needs); !ok {
			return fail(vocab.ToolExecutionFailed, "nothing is chosen yet")
		}
	}
	p.narrow = nil
	result := object{"ok": true, "toolName": name}
	switch {
	case e.Set != "":
		p.ui = put(copied(p.ui), e.Set, params[e.From])
		result["uiSpec"] = p.ui
	case e.Go != 0:
		p.at = max(0, p.at+e.Go)
		if p.ui = nil; p.at < len(p.flow.Stages) {
			p.ui = copied(p.flow.Stages[p.at].UISpec)
		}
	case e.Say != "":
		p.say("assistant", params[e.Say])
	}
	return []any{envelope(vocab.ToolResult, "", id, result), p.updated()}
}

func (p *play) say(role string, text any) {
	from := max(0, len(p.history)+1-mostSaid)
	p.history = append(slices.Clip(p.history[from:]), object{"role": role, "text": text})
}

// state is what is announced now.
func (p *play) state() object {
	s := object{"uiSpec": p.ui, "messageHistory": p.history, "toolSchema": []any{}}
	if p.at < len(p.flow.Stages) {
		s["toolSchema"] = p.flow.Stages[p.at].ToolSchema
		if p.narrow != nil {
			s["toolSchema"] = p.narrow
		}
	}
	return s
}

// announced are the tools that may be called now.
func (p *play) announced() toolschema.Tools {
	st := p.flow.Stages[p.at]
	if p.narrow == nil {
		return st.tools
	}
	tools, err := toolschema.Parse(p.narrow)
	if err != nil {
		panic(err) // it is a part of the flow, which was read
	}
	return tools
}

// updated is a state.updated of what is announced now.
func (p *play) updated() object {
	s := p.state()
	s["source"] = vocab.SourceHost
	return envelope(vocab.StateUpdated, "", "", s)
}

// push has the host send something by itself.
func (p *play) push(ctx context.Context, make func(*play) any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := make(p); p.conn != nil {
		p.send(ctx, p.conn, v)
	}
}
