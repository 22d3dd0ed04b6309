package externalagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/target"
	wjson "parley/transport/wire/json"
)

// mind is how an agent differs from a good one.
type mind struct {
	early    string        // it does not wait for relay.joined
	hasty    bool          // it does not wait for relay.joined
	spoke    bool          // it has said something, which a state of its own may show
	blind    bool          // it calls after an ok-only result without waiting for the state
	stubborn bool          // it acts on what it knew before the latest state
	frail    bool          // it gives up at a refusal or at what it does not understand
	forget   bool          // it does not ask for a snapshot after reconnecting
	stays    bool          // it does not reconnect
	restless bool          // it calls while nothing is announced
	starved  bool          // it gets no processor time for a while once nothing is announced
	drowsy   bool          // it takes long for its first act after a call of next
	silent   bool          // it ends after its join
	offline  bool          // it does not connect
	other    bool          // it joins another relay session after reconnecting
	astray   bool          // it connects to another path
	mute     bool          // it ends before its join
	shy      bool          // it waits for the participant before it begins
	deaf     bool          // after what it does not understand it reads no more and asks for snapshots
	fixed    bool          // it always makes the same choice
	well     bool          // its process succeeds
	kept     bool          // it keeps a uiSpec until the next one, and takes it from results too
	ahead    bool          // it makes its next call before it reads the answer to the first one
	few      int           // it makes no more calls than this, and asks for nothing then; 0: as many as it needs
	dozy     time.Duration // how long it takes for its first act, whether hasty or not
	session  string        // the relay session that it joins, whatever it was given
	stale    time.Duration // how long it waits for a state before it asks for it; 0: not long
	leaves   bool          // it ends its connection instead, and stays away
}

// called is a target that is an agent, which runs in a goroutine and acts on its messages.
type called struct {
	target.Running
	mind   mind
	err    error // of Call
	cancel context.CancelFunc
	done   sync.WaitGroup
	exited chan struct{}
}

// Call implements target.Caller.
func (a *called) Call(_ context.Context, o target.CallOptions) (target.Called, error) {
	if a.err != nil {
		return nil, a.err
	}
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	a.exited = make(chan struct{})
	a.done.Go(func() {
		defer close(a.exited)
		(&scriptedAgent{mind: a.mind, url: o.URL, session: cmp.Or(a.mind.session, o.Session)}).live(ctx)
	})
	return a, nil
}

func (a *called) Exited() <-chan struct{} { return a.exited }
func (a *called) ExitErr() error {
	if a.mind.well {
		return nil
	}
	return errors.New("it has had enough")
}
func (a *called) Stderr() string { return "its last words" }
func (a *called) Stop(context.Context) error {
	a.cancel()
	a.done.Wait()
	return nil
}

// scriptedAgent books by the built-in flow.
type scriptedAgent struct {
	mind
	url, session string
	conn         *websocket.Conn
	serial       int
	ui           object
	tools        []any
	knew         []any  // the tools before those
	waits        string // what it waits for: the type of its request, or another word
	asked        string // the id of its request
	refusals     int
	calls        int
	started      bool
	went         bool // it has called next
}

var errEnough = errors.New("enough")

func (a *scriptedAgent) live(ctx context.Context) {
	for a.session != "" && !a.offline {
		err := a.connect(ctx)
		if a.conn != nil {
			_ = a.conn.CloseNow()
		}
		if ctx.Err() != nil || errors.Is(err, errEnough) || a.stays {
			return
		}
		if a.other {
			a.session += "-other"
		}
	}
}

func (a *scriptedAgent) send(ctx context.Context, kind string, payload object) error {
	a.serial++
	if kind != vocab.AgentMessage { // nothing answers it
		a.waits, a.asked = kind, fmt.Sprintf("a-%d", a.serial)
	}
	b, err := json.Marshal(envelope(kind, fmt.Sprintf("a-%d", a.serial), "", payload))
	if err != nil {
		return err
	}
	return a.conn.Write(ctx, websocket.MessageText, b)
}

func (a *scriptedAgent) connect(ctx context.Context) error {
	var err error
	if a.astray {
		a.url = strings.Replace(a.url, "/agent/ws", "/elsewhere", 1)
	}
	if a.conn, _, err = websocket.Dial(ctx, a.url, nil); err != nil { //nolint:bodyclose // the library's own
		return errEnough
	}
	a.conn.SetReadLimit(-1)
	if a.mute {
		return errEnough
	}
	if a.early != "" {
		if err := a.send(ctx, a.early, object{}); err != nil {
			return err
		}
	}
	if err := a.send(ctx, vocab.RelayJoin, object{"role": "agent", vocab.SessionID: a.session}); err != nil {
		return err
	}
	if a.silent {
		return errEnough
	}
	if a.hasty {
		if err := a.begin(ctx); err != nil {
			return err
		}
	}
	for {
		wait, cancel := ctx, func() {}
		if a.waits == "a state" && a.few == 0 { // request a state that does not come
			wait, cancel = context.WithTimeout(ctx, cmp.Or(a.stale, 50*soon)) // longer than a busy harness delays a state
		}
		_, b, err := a.conn.Read(wait) // the library closes the connection on a timeout; the agent then reconnects
		cancel()
		if err != nil && a.leaves {
			<-ctx.Done()
		}
		if err != nil {
			return err
		}
		if err := a.hear(ctx, b); err != nil {
			return err
		}
	}
}

// begin starts or resumes a session.
func (a *scriptedAgent) begin(ctx context.Context) error {
	switch {
	case !a.started:
		if !a.dozes(ctx) {
			return errEnough
		}
		return a.send(ctx, vocab.SessionStart, object{"studyId": "p", "participantId": "P07"})
	case a.forget:
		return a.act(ctx, a.tools)
	}
	return a.send(ctx, vocab.SnapshotGet, object{})
}

// dozes waits for the time that the agent takes for its first act, and reports whether the agent is still running.
func (a *scriptedAgent) dozes(ctx context.Context) bool {
	pause := time.NewTimer(a.dozy)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-pause.C:
		return true
	}
}

func (a *scriptedAgent) hear(ctx context.Context, b []byte) error {
	var env struct {
		Type    string
		ReplyTo string
		Payload object
	}
	switch err := json.Unmarshal(b, &env); {
	case err != nil && a.frail:
		return errEnough
	case err != nil && a.deaf:
		return a.repeat(ctx)
	case err != nil:
		return nil
	}
	switch env.Type {
	case vocab.RelayJoined:
		if !a.hasty && !a.shy {
			return a.begin(ctx)
		}
	case vocab.SessionStarted:
		a.started = true
		a.waits = "a state"
	case vocab.StateUpdated, vocab.SnapshotState:
		a.sees(env.Payload)
		switch {
		case a.waits == vocab.ToolCall: // its result is still to come, or it has spoken, which the history shows
			if !a.spoke {
				a.waits = "a result"
			}
			a.spoke = false
		case a.waits == "a state", a.waits == vocab.SnapshotGet && env.Type == vocab.SnapshotState, a.waits == "tools":
			return a.act(ctx, a.goesBy())
		}
	case vocab.ToolResult, vocab.ErrorMessage:
		switch {
		case env.ReplyTo != a.asked && !a.ahead:
		case env.Type == vocab.ErrorMessage || env.Payload[vocab.OK] != true:
			return a.isRefused(ctx, env.Payload)
		case a.blind && env.Payload[vocab.Spec] == nil, a.waits == "a result":
			return a.act(ctx, a.tools)
		default:
			a.waits = "a state"
		}
		if ui, ok := env.Payload[vocab.Spec].(object); ok && a.kept {
			a.ui = ui
		}
	case vocab.UserMessage:
		switch {
		case a.shy && !a.started:
			return a.begin(ctx)
		case !a.well:
			a.spoke = true
			return a.send(ctx, vocab.AgentMessage, object{"text": "I see."})
		}
	case vocab.SessionEnded:
		return errEnough
	}
	return nil
}

// sees takes a state.
func (a *scriptedAgent) sees(state object) {
	a.knew = a.tools
	if ui, ok := state[vocab.Spec].(object); ok || !a.kept {
		a.ui = ui
	}
	a.tools, _ = state[vocab.ToolSchema].([]any)
}

// isRefused continues after a refusal, a limited number of times.
func (a *scriptedAgent) isRefused(ctx context.Context, payload object) error {
	if a.frail || a.ahead {
		return a.stops(ctx)
	}
	if a.refusals++; a.refusals > 3 {
		return a.send(ctx, vocab.SessionEnd, object{"reason": "refused"})
	}
	if payload[vocab.Code] == vocab.SessionNotActive {
		a.started = false
	}
	return a.begin(ctx)
}

// stops ends the agent or, if it is deaf, leaves it idle.
func (a *scriptedAgent) stops(ctx context.Context) error {
	if a.deaf {
		<-ctx.Done()
	}
	return errEnough
}

// repeat keeps sending requests and reads nothing.
func (a *scriptedAgent) repeat(ctx context.Context) error {
	ticks := time.NewTicker(soon)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return errEnough
		case <-ticks.C:
			if err := a.send(ctx, vocab.SnapshotGet, object{}); err != nil {
				return errEnough
			}
		}
	}
}

// pick returns the first item that may be selected.
func (a *scriptedAgent) pick(tools []any) any {
	for _, item := range tools {
		if of, ok := wjson.Lookup(item, "/parameters/properties/itemId/enum/0"); ok && !a.fixed {
			return of
		}
	}
	if of, ok := wjson.Lookup(a.ui, "/items/0/id"); ok && a.kept {
		return of
	}
	return "m1"
}

// act makes the next call, based on what is announced.
func (a *scriptedAgent) act(ctx context.Context, tools []any) error {
	offered := map[string]bool{}
	for _, item := range tools {
		if o, ok := item.(object); ok {
			name, _ := o["name"].(string)
			offered[name] = true
		}
	}
	call := func(tool string, params object) error {
		if a.calls++; a.few > 0 && a.calls > a.few {
			return nil
		}
		if a.ahead && a.serial < 4 {
			body := object{vocab.ToolName: tool, vocab.Params: params, "reason": "it is first"}
			if err := a.send(ctx, vocab.ToolCall, body); err != nil {
				return err
			}
			if a.dozy = soon; !a.dozes(ctx) {
				return errEnough
			}
		}
		return a.send(ctx, vocab.ToolCall, object{vocab.ToolName: tool, vocab.Params: params, "reason": "it is next"})
	}
	selected, _ := a.ui["selected"].([]any)
	quantities, _ := a.ui["quantities"].(object)
	if a.drowsy && a.went {
		a.drowsy, a.dozy = false, 100*soon // more than a host holds a state back on a busy machine
		if !a.dozes(ctx) {
			return errEnough
		}
	}
	switch {
	case len(tools) == 0 && a.ui == nil:
		return a.send(ctx, vocab.SessionEnd, object{"reason": "study-complete"})
	case len(tools) == 0 && a.starved:
		a.starved = false
		if a.dozy = 3 * model.Crossing; !a.dozes(ctx) {
			return errEnough
		}
		if a.restless {
			return call("select", object{"itemId": "m1"})
		}
		a.waits = "tools"
		return nil
	case (len(tools) == 0 || a.ui == nil) && !a.restless:
		a.waits = "tools"
		return nil
	case offered["select"] && len(selected) == 0:
		return call("select", object{"itemId": a.pick(tools)})
	case offered["setQuantity"] && len(quantities) == 0:
		if a.kept {
			return call("setQuantity", object{"itemId": a.pick(tools), "quantity": 1})
		}
		return call("setQuantity", object{"itemId": "adult", "quantity": 1})
	case offered["prev"] && !offered["next"]:
		return call("prev", object{})
	}
	a.went = true
	return call("next", object{})
}

// meet runs the lines of one scenario with an agent.
func meet(t *testing.T, m mind, tags, lines string, change ...func(*steps.Env)) steps.Result {
	t.Helper()
	env := environment(t, vocab.Agent, nil)
	env.Driver = &peer{}
	env.Profile.Capabilities = []string{binding.Reconnect}
	env.Profile.Limits.Quiet.Duration = 3 * soon
	binding.Of(env.Profile).Agent.Join.Duration, binding.Of(env.Profile).Agent.Pace.Duration = patience, patience
	for _, f := range change {
		f(env)
	}
	return perform(t, env, &called{mind: m}, tags, lines)
}

// goesBy returns the tools on which the agent acts.
func (a *scriptedAgent) goesBy() []any {
	if a.stubborn && a.knew != nil {
		return a.knew
	}
	return a.tools
}
