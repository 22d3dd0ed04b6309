package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps/toolschema"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// play is the host played by the harness: a booking flow, on one connection at a time. If the target is an agent, it
// plays the relay too. It answers from its own goroutine. Steps read the transcript and plan departures from the flow
// beforehand.
type play struct {
	t     *transcript.Transcript
	flow  *flow
	relay bool // it answers relay.join
	study string

	mu          sync.Mutex
	conn        driver.Conn
	left        driver.Conn // the latest connection that the play has ended
	active      bool
	at          int // index of the stage; len(flow.Stages) once the booking is done
	ui          any // the current uiSpec of the stage
	history     []any
	narrow      []any  // announced instead of the stage's toolSchema, unless nil
	went        int    // number of successful calls
	result      object // of the latest successful call
	latest      string // its tool
	undo        func() // undoes the effect of the latest call
	plans       []*plan
	joined      bool                      // an agent has been told so
	joins       func(answer object) []any // the messages sent instead of relay.joined
	beforeFirst func() []any              // what is sent before the first state.updated
	afterFirst  func() []any              // what is sent after it
	states      int
	lost        bool // the state after the latest call is withheld until requested

	over context.Context // until stop
	end  context.CancelFunc
	done sync.WaitGroup
}

// plan is a departure of the host from its flow, at the first fitting call from the n-th successful one on. do
// returns what is sent. It is called after the call has had its effect.
type plan struct {
	n    int
	fits func(call, result object) bool // nil: any call fits
	do   func(turn) []any
	made bool
}

// mostSaid is the maximum number of messages kept, so that flooding the host does not make each state longer than the
// one before.
const mostSaid = 500

func newPlay(t *transcript.Transcript, f *flow, nonce string) *play {
	p := &play{t: t, flow: f, study: "s-parley-" + nonce}
	p.over, p.end = context.WithCancel(context.Background())
	p.reset()
	return p
}

// reset restarts the booking. The caller holds the lock or is the only user of the play.
func (p *play) reset() {
	p.at, p.history, p.narrow, p.lost = 0, []any{}, nil, false
	p.ui = copied(p.flow.Stages[0].UISpec)
}

// attend answers the messages on a connection until it ends. It returns at once.
func (p *play) attend(conn driver.Conn, name string, from int) {
	p.mu.Lock()
	p.conn = conn
	p.mu.Unlock()
	p.done.Go(func() {
		for {
			rec, err := p.t.Await(p.over, from, func(r *transcript.Record) bool {
				return r.Conn == name && r.Dir == transcript.Received && (r.Kind == transcript.Frame || closed(r))
			})
			if err != nil || closed(&rec) || p.over.Err() != nil { // frames before the end were found first
				return
			}
			from = rec.N
			p.on(p.over, conn, &rec)
			if p.hasLeft(conn) { // what was in transit is lost with the connection
				return
			}
		}
	})
}

// hasLeft reports whether the play itself ended a connection.
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

// around adds what is sent before and after the first state.updated.
func (p *play) around(v any) []any {
	out := []any{v}
	if kindOfObject(v) != vocab.StateUpdated {
		return out
	}
	if p.states++; p.states > 1 {
		return out
	}
	if p.beforeFirst != nil {
		out = asPlanned(append(p.beforeFirst(), v))
	}
	if p.afterFirst != nil {
		out = append(out, p.afterFirst()...)
	}
	return out
}

// remark is an element of what is sent that becomes a remark in the transcript.
type remark string

const (
	// planning is the remark before what a scenario has planned.
	planning remark = "the host does what the scenario asks of it"
	// planned is the remark before the last planned message: an answer to that comes after the remark.
	planned remark = "the host has done what the scenario asks of it"
)

// asPlanned adds the remarks to what a plan sends.
func asPlanned(out []any) []any {
	last := len(out) - 1
	return append(append(append([]any{planning}, out[:last]...), planned), out[last])
}

// hangUp is an element of what is sent that drops the connection.
type hangUp struct{}

// send sends an envelope or raw bytes. A duration is a pause without any message.
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
		panic(err) // our own envelope always encodes
	}
	_, _ = conn.Send(ctx, m) // the transcript records a lost connection
}

func kindOfObject(v any) string {
	o, _ := v.(object)
	k, _ := o[vocab.Type].(string)
	return k
}

// respond returns what to send in answer to one frame, in order.
func (p *play) respond(r *transcript.Record) []any {
	kind, id := kindOf(r), field(r, vocab.ID)
	body := payload(r)
	fail := func(code, text string) []any {
		return []any{envelope(vocab.ErrorMessage, "", id, object{"code": code, "message": text})}
	}
	switch {
	case kind == vocab.RelayJoined || !p.relay && ofRelay(r):
		return nil
	case body == nil:
		return fail(vocab.InvalidMessage, "not an envelope whose payload is an object")
	case kind == vocab.RelayJoin && p.relay:
		p.joined = true
		answer := envelope(vocab.RelayJoined, "", id, object{
			vocab.Role: body[vocab.Role], vocab.SessionID: body[vocab.SessionID],
		})
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
		return []any{envelope(vocab.SessionStarted, "", id, object{vocab.SessionID: p.study}), p.updated()}
	case vocab.SnapshotGet:
		p.lost = false
		s := p.state()
		s[vocab.SessionID] = p.study
		return []any{envelope(vocab.SnapshotState, "", id, s)}
	case vocab.ToolCall:
		return p.call(id, body, fail)
	case vocab.AgentMessage:
		if p.say("agent", body[vocab.Text]); p.lost {
			return nil
		}
		return []any{p.updated()}
	case vocab.SessionEnd:
		p.active = false
		p.reset()
		return []any{envelope(vocab.SessionEnded, "", id, object{
			vocab.SessionID: p.study, vocab.LogFile: "logs/study/" + p.study + ".jsonl", "stateReset": true,
		})}
	}
	return fail(vocab.InvalidMessage, "unknown type "+kind)
}

// ofRelay reports whether a message may be the relay's own to the played party: an error, presence, or another
// unrequested notification. It needs no answer.
func ofRelay(r *transcript.Record) bool {
	kind := kindOf(r)
	if kind == vocab.ErrorMessage || strings.HasPrefix(kind, "relay.") {
		return true
	}
	known := kind == "" || kind == vocab.SessionStart || slices.Contains(inSession, kind)
	return !known && field(r, vocab.ID) == ""
}

// inSession are the requests that need a session.
var inSession = []string{vocab.SnapshotGet, vocab.ToolCall, vocab.AgentMessage, vocab.SessionEnd}

// notActive is the error for requests without a session.
var notActive = object{"code": vocab.SessionNotActive, "message": "no session has been started"}

// call answers a tool.call by the flow, unless a scenario has planned a departure for it.
func (p *play) call(id string, body object, fail func(code, text string) []any) []any {
	at, ui, history, narrow := p.at, p.ui, p.history, p.narrow
	p.undo = func() { p.at, p.ui, p.history, p.narrow = at, ui, history, narrow }
	out := p.called(id, body, fail)
	if kindOfObject(out[0]) != vocab.ToolResult {
		return out
	}
	p.went++
	p.result, p.lost = out[0].(object), false
	p.latest, _ = body[vocab.ToolName].(string)
	for _, pl := range p.plans {
		if !pl.made && pl.n <= p.went && (pl.fits == nil || pl.fits(body, p.result[vocab.Payload].(object))) {
			pl.made = true
			return asPlanned(pl.do(turn{p, body, id}))
		}
	}
	if p.at == len(p.flow.Stages) {
		p.t.Remark("", "%s", booked)
	}
	return out
}

// booked is the remark that the flow has been gone through.
const booked = "the booking is done"

func (p *play) called(id string, body object, fail func(code, text string) []any) []any {
	name, _ := body[vocab.ToolName].(string)
	if p.at == len(p.flow.Stages) {
		return fail(vocab.NoActiveSpec, "the booking is done")
	}
	st := p.flow.Stages[p.at]
	t := p.announced().Find(name)
	if t == nil {
		return fail(vocab.UnknownTool, fmt.Sprintf("%q is not announced at stage %s", name, st.Name))
	}
	if err := t.Accepts(body[vocab.Params]); err != nil {
		return fail(vocab.InvalidParams, err.Error())
	}
	params, _ := body[vocab.Params].(object)
	e := st.Effects[name]
	if e.Needs != "" {
		if _, ok := wjson.Lookup(p.ui, e.Needs); !ok {
			return fail(vocab.ToolExecutionFailed, "nothing is chosen yet")
		}
	}
	p.narrow = nil
	result := object{"ok": true, vocab.ToolName: name}
	switch {
	case e.Set != "":
		p.ui = put(copied(p.ui), e.Set, params[e.From])
		result[vocab.Spec] = p.ui
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

// state returns what is announced now.
func (p *play) state() object {
	s := object{vocab.Spec: p.ui, vocab.MessageHistory: p.history, vocab.ToolSchema: []any{}}
	if p.at < len(p.flow.Stages) {
		s[vocab.ToolSchema] = p.flow.Stages[p.at].ToolSchema
		if p.narrow != nil {
			s[vocab.ToolSchema] = p.narrow
		}
	}
	return s
}

// announced returns the tools that may be called now.
func (p *play) announced() toolschema.Tools {
	st := p.flow.Stages[p.at]
	if p.narrow == nil {
		return st.tools
	}
	tools, err := toolschema.Parse(p.narrow)
	if err != nil {
		panic(err) // part of the flow, which has been parsed
	}
	return tools
}

// updated returns a state.updated with what is announced now.
func (p *play) updated() object {
	s := p.state()
	s["source"] = vocab.SourceHost
	return envelope(vocab.StateUpdated, "", "", s)
}

// push lets the host send something unrequested.
func (p *play) push(ctx context.Context, make func(*play) any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := make(p); p.conn != nil {
		p.send(ctx, p.conn, v)
	}
}
