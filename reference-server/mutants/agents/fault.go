package agents

import (
	"context"

	"github.com/coder/websocket"

	"parley/reference-server/externalagent/agent"
)

// Short names for what every fault handles.
type (
	view    = agent.View
	message = agent.Message
	state   = agent.State
	call    = agent.Call
	options = agent.Options
	sender  = func(msg message)
	object  = map[string]any
)

// correct is what a fault falls back on.
var correct agent.Correct

// fault puts itself into the options of an agent. What it remembers it makes anew at each call: it is that of one run, in which
// one goroutine uses it.
type fault func(o *options)

// deciding is a fault in the decisions; make is called once per run.
func deciding(make func() rules) fault {
	return func(o *options) { o.Policy = make() }
}

// telling is a fault in what is sent; make is called once per run.
func telling(make func() agent.Outbound) fault {
	return func(o *options) { o.Outbound = make() }
}

// hearing is a fault in what is taken; make is called once per run.
func hearing(make func() agent.Inbound) fault {
	return func(o *options) { o.Inbound = make() }
}

// both is two sides of one fault.
func both(some ...fault) fault {
	return func(o *options) {
		for _, put := range some {
			put(o)
		}
	}
}

// rewriting changes the messages of a type; all of them, if that is "".
func rewriting(kind string, f func(msg message) message) fault {
	return telling(func() agent.Outbound {
		return func(_ view, msg message, send sender) {
			if kind == "" || msg.Type() == kind {
				msg = f(msg)
			}
			send(msg)
		}
	})
}

// with changes the payload of the messages of a type, which is a copy.
func with(kind string, f func(p object)) fault {
	return rewriting(kind, func(msg message) message {
		p := object{}
		for name, v := range msg.Payload() {
			p[name] = v
		}
		f(p)
		return msg.With("payload", p)
	})
}

// setting puts a value into the payload of the messages of a type.
func setting(kind, name string, v any) fault { return with(kind, func(p object) { p[name] = v }) }

// lacking leaves a member out of the payload of the messages of a type.
func lacking(kind, name string) fault { return with(kind, func(p object) { delete(p, name) }) }

// rules decide correctly, but for the functions that are given.
type rules struct {
	agent.Correct
	mayTalk   func(v view) bool
	reconnect func(v view) bool
	id        func(v view, kind string, n int) any
	accept    func(v view, msg message) string
	answers   func(v view, msg message) string
	strange   func(v view, o agent.Oddity) agent.Reaction
	resync    func(v view, why agent.Occasion) bool
	state     func(v view) state
	settled   func(v view) bool
	choose    func(v view, s state, candidates []call) (call, bool)
	failed    func(v view, f agent.Failure) agent.Remedy
	finished  func(v view, s state) (string, bool)
	leave     func(v view) agent.Goodbye
}

var _ agent.Policy = rules{}

func (r rules) MayTalk(v view) bool {
	if r.mayTalk == nil {
		return r.Correct.MayTalk(v)
	}
	return r.mayTalk(v)
}

func (r rules) Reconnect(v view, err error) bool {
	if r.reconnect == nil {
		return r.Correct.Reconnect(v, err)
	}
	return r.reconnect(v)
}

func (r rules) ID(v view, kind string, n int) any {
	if r.id == nil {
		return r.Correct.ID(v, kind, n)
	}
	return r.id(v, kind, n)
}

func (r rules) Accept(v view, msg message) string {
	if r.accept == nil {
		return r.Correct.Accept(v, msg)
	}
	return r.accept(v, msg)
}

func (r rules) Answers(v view, msg message) string {
	if r.answers == nil {
		return r.Correct.Answers(v, msg)
	}
	return r.answers(v, msg)
}

func (r rules) Strange(v view, o agent.Oddity) agent.Reaction {
	if r.strange == nil {
		return r.Correct.Strange(v, o)
	}
	return r.strange(v, o)
}

func (r rules) Resync(v view, why agent.Occasion) bool {
	if r.resync == nil {
		return r.Correct.Resync(v, why)
	}
	return r.resync(v, why)
}

func (r rules) State(v view) state {
	if r.state == nil {
		return r.Correct.State(v)
	}
	return r.state(v)
}

func (r rules) Settled(v view) bool {
	if r.settled == nil {
		return r.Correct.Settled(v)
	}
	return r.settled(v)
}

func (r rules) Choose(v view, s state, candidates []call) (call, bool) {
	if r.choose == nil {
		return r.Correct.Choose(v, s, candidates)
	}
	return r.choose(v, s, candidates)
}

func (r rules) Failed(v view, f agent.Failure) agent.Remedy {
	if r.failed == nil {
		return r.Correct.Failed(v, f)
	}
	return r.failed(v, f)
}

func (r rules) Finished(v view, s state) (string, bool) {
	if r.finished == nil {
		return r.Correct.Finished(v, s)
	}
	return r.finished(v, s)
}

func (r rules) Leave(v view) agent.Goodbye {
	if r.leave == nil {
		return r.Correct.Leave(v)
	}
	return r.leave(v)
}

// dialling stands before the connections of a run; make is called once for it.
func dialling(make func() agent.Dialer) fault {
	return func(o *options) { o.Dial = make() }
}

// wire is a connection with a fault of its own.
type wire struct {
	agent.Socket
	write func(ctx context.Context, data []byte, put func(data []byte) error) error
}

func (w wire) Write(ctx context.Context, kind websocket.MessageType, data []byte) error {
	return w.write(ctx, data, func(data []byte) error { return w.Socket.Write(ctx, kind, data) })
}

// writing changes what goes over each connection; make is called once per connection.
func writing(make func() func(data []byte, put func(data []byte) error) error) fault {
	return dialling(func() agent.Dialer {
		return func(ctx context.Context, url string) (agent.Socket, error) {
			s, err := agent.DialWebSocket(ctx, url)
			if err != nil {
				return nil, err
			}
			write := make()
			return wire{s, func(_ context.Context, data []byte, put func(data []byte) error) error { return write(data, put) }}, nil
		}
	})
}
