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
	"parley/target"
	wjson "parley/wire/json"
)

// mind is what an agent does otherwise than a good one.
type mind struct {
	early    string        // a type that it sends before it joins
	hasty    bool          // it does not wait for relay.joined
	blind    bool          // it calls behind a result without waiting for the state
	stubborn bool          // it goes on by what it knew before the latest state
	frail    bool          // it gives up over what it does not understand, or what is refused
	forget   bool          // it does not ask for a snapshot once it has come back
	stays    bool          // it stays away once its connection is lost
	restless bool          // it calls while nothing is announced
	starved  bool          // it comes to nothing for a while once nothing is announced, as on a busy machine
	silent   bool          // it ends behind its join
	offline  bool          // it does not connect
	other    bool          // it comes back to another relay session
	astray   bool          // it connects elsewhere
	mute     bool          // it ends before its join
	shy      bool          // it waits for the participant before it begins
	deaf     bool          // it reads no more behind what it does not understand, and asks for snapshots
	fixed    bool          // it picks what it picks, whatever may be picked
	well     bool          // its process ends well
	kept     bool          // it keeps a uiSpec until another one comes, and takes one from results
	ahead    bool          // it makes its next call before it reads what comes of the first one
	dozy     time.Duration // how long it takes for its first act, be it hasty or not
	session  string        // the relay session that it joins, whatever it was told
}

// called is a target that is an agent: its life is that of a goroutine, which goes by what it is told.
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
	waits        string // for what: the type of its request, or more
	asked        string // its id
	refusals     int
	started      bool
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
	if kind != vocab.AgentMessage { // nothing answers that
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
	if err := a.send(ctx, vocab.RelayJoin, object{"role": "agent", "sessionId": a.session}); err != nil {
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
		if a.waits == "a state" { // one that does not come is asked for
			wait, cancel = context.WithTimeout(ctx, 10*soon)
		}
		_, b, err := a.conn.Read(wait) // the library ends the connection of who gives up: the agent comes back then
		cancel()
		if err != nil {
			return err
		}
		if err := a.hear(ctx, b); err != nil {
			return err
		}
	}
}

// begin starts a session, or takes it up again.
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

// dozes lets the time pass that the agent takes for its first act; it reports whether it lives on.
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
		a.knew = a.tools
		if ui, ok := env.Payload["uiSpec"].(object); ok || !a.kept {
			a.ui = ui
		}
		a.tools, _ = env.Payload["toolSchema"].([]any)
		switch {
		case a.waits == vocab.ToolCall: // its result is still to come
			a.waits = "a result"
		case a.waits == "a state", a.waits == vocab.SnapshotGet && env.Type == vocab.SnapshotState, a.waits == "tools":
			return a.act(ctx, a.goesBy())
		}
	case vocab.ToolResult, vocab.ErrorMessage:
		switch {
		case env.ReplyTo != a.asked && !a.ahead:
		case env.Type == vocab.ErrorMessage || env.Payload["ok"] != true:
			return a.isRefused(ctx, env.Payload)
		case a.blind, a.waits == "a result":
			return a.act(ctx, a.tools)
		default:
			a.waits = "a state"
		}
		if ui, ok := env.Payload["uiSpec"].(object); ok && a.kept {
			a.ui = ui
		}
	case vocab.UserMessage:
		switch {
		case a.shy && !a.started:
			return a.begin(ctx)
		case !a.well:
			return a.send(ctx, vocab.AgentMessage, object{"text": "I see."})
		}
	case vocab.SessionEnded:
		return errEnough
	}
	return nil
}

// isRefused goes on behind a refusal, a few times.
func (a *scriptedAgent) isRefused(ctx context.Context, payload object) error {
	if a.frail || a.ahead {
		return a.stops(ctx)
	}
	if a.refusals++; a.refusals > 3 {
		return a.send(ctx, vocab.SessionEnd, object{"reason": "refused"})
	}
	if payload["code"] == vocab.SessionNotActive {
		a.started = false
	}
	return a.begin(ctx)
}

// stops ends it, or leaves it as it is.
func (a *scriptedAgent) stops(ctx context.Context) error {
	if a.deaf {
		<-ctx.Done()
	}
	return errEnough
}

// repeat asks again and again, and reads nothing.
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

// pick is the first item that may be selected.
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

// act makes the next call by what is announced.
func (a *scriptedAgent) act(ctx context.Context, tools []any) error {
	offered := map[string]bool{}
	for _, item := range tools {
		if o, ok := item.(object); ok {
			name, _ := o["name"].(string)
			offered[name] = true
		}
	}
	call := func(tool string, params object) error {
		if a.ahead && a.serial < 4 {
			body := object{"toolName": tool, "params": params, "reason": "it is first"}
			if err := a.send(ctx, vocab.ToolCall, body); err != nil {
				return err
			}
			if a.dozy = soon; !a.dozes(ctx) {
				return errEnough
			}
		}
		return a.send(ctx, vocab.ToolCall, object{"toolName": tool, "params": params, "reason": "it is next"})
	}
	selected, _ := a.ui["selected"].([]any)
	quantities, _ := a.ui["quantities"].(object)
	switch {
	case len(tools) == 0 && a.ui == nil:
		return a.send(ctx, vocab.SessionEnd, object{"reason": "study-complete"})
	case len(tools) == 0 && a.starved:
		a.starved = false
		if a.dozy = 3 * crossing; !a.dozes(ctx) {
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

// goesBy are the tools by which it acts.
func (a *scriptedAgent) goesBy() []any {
	if a.stubborn && a.knew != nil {
		return a.knew
	}
	return a.tools
}
