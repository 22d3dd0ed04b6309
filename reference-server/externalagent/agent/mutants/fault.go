// Package mutants is the catalogue of faulty agents of external-agent: each is the bundled agent with one named fault
// that a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, with what they do to messages; the other faults are in the other files, by subject.
// A fault changes a decision by agent.Policy, or envelopes, frames and connections on their way.
package mutants

import (
	"context"
	_ "embed"
	"maps"

	"github.com/coder/websocket"

	"parley/internal/faultrule"
	proto "parley/protocol/externalagent"
	"parley/reference-server/catalogue"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/wire"
)

//go:embed catalogue.yaml
var rows []byte

// Catalogue has the mutants. The state of a fault belongs to the options it is set up in, which make one agent.
var Catalogue = catalogue.New[options](rows,
	connectingFaults, joiningFaults, envelopeFaults, messageFaults, stateFaults, callFaults, survivalFaults,
	cutFaults).Messages(passing)

// passing puts in what a row does to messages.
func passing(o *options, f catalogue.Faults) {
	x := catalogue.Inside(f, catalogue.Form[message, catalogue.Number]("/type"))
	o.Inbound = func(_ view, msg message) []message { return x.Pass("", faultrule.Server, msg) }
	o.Outbound = func(_ view, msg message, send sender) {
		for _, msg := range x.Pass("", faultrule.Client, msg) {
			send(msg)
		}
	}
}

// Short names for what every fault handles.
type (
	view    = agent.View
	policy  = agent.Policy
	message = agent.Message
	state   = agent.State
	call    = agent.Call
	options = agent.Options
	sender  = func(msg message)
	object  = wire.Object
	put     = func(data string) error
)

// fault sets itself up in the options of one run, which one goroutine uses.
type fault func(o *options)

// both combines parts of one fault.
func both(some ...fault) fault {
	return func(o *options) {
		for _, f := range some {
			f(o)
		}
	}
}

// deciding is a stateless fault in the decisions.
func deciding(p policy) fault { return func(o *options) { o.Policy = p } }

// hearing is a stateless fault in incoming messages.
func hearing(f agent.Inbound) fault { return func(o *options) { o.Inbound = f } }

// deafTo ignores some incoming messages.
func deafTo(which func(v view, msg message) bool) fault {
	return hearing(func(v view, msg message) []message {
		if which(v, msg) {
			return nil
		}
		return []message{msg}
	})
}

// telling is a stateless fault in outgoing messages.
func telling(f agent.Outbound) fault { return func(o *options) { o.Outbound = f } }

// spoiling changes a copy of the payload of the messages of a type.
func spoiling(kind string, f func(v view, p object)) fault {
	return telling(func(v view, msg message, send sender) {
		if msg.Type() == kind {
			p := maps.Clone(msg.Payload())
			f(v, p)
			msg = msg.With("payload", p)
		}
		send(msg)
	})
}

// with is spoiling without the view.
func with(kind string, f func(p object)) fault {
	return spoiling(kind, func(_ view, p object) { f(p) })
}

// wired is a connection with its own way of writing.
type wired struct {
	agent.Socket
	write func(data string, put put) error
}

func (w wired) Write(ctx context.Context, kind websocket.MessageType, data []byte) error {
	return w.write(string(data), func(data string) error { return w.Socket.Write(ctx, kind, []byte(data)) })
}

// writing changes what is written to each connection; writer is called once per connection.
func writing(writer func() func(data string, put put) error) fault {
	return dialling(func(ctx context.Context, url string) (agent.Socket, error) {
		s, err := agent.DialWebSocket(ctx, url)
		if err != nil {
			return nil, err
		}
		return wired{s, writer()}, nil
	})
}

// dialling replaces the dialer.
func dialling(f agent.Dialer) fault { return func(o *options) { o.Dial = f } }

// cutFaults show only if a connection ends at a certain point of a booking: directly after the agent has sent or
// received a message of a certain kind, or after a certain number of calls.
var cutFaults = map[string]fault{
	"end-behind-a-first-result-trusts":  trusting(1, proto.ToolResult),
	"end-behind-a-second-result-trusts": trusting(2, proto.ToolResult),
	"end-behind-a-third-result-trusts":  trusting(3, proto.ToolResult),
}

// trusting requests no snapshot on a new connection if the previous one ended at that point: it relies on what it knew
// before.
func trusting(made int, behind string) fault {
	return func(o *options) {
		last, trusted := "", 0
		o.Inbound = func(_ view, msg message) []message {
			last = msg.Type()
			return []message{msg}
		}
		o.Outbound = func(_ view, msg message, send sender) {
			last = msg.Type()
			send(msg)
		}
		o.Policy.Resync = func(v view, why agent.Occasion, resync bool) bool {
			if why == agent.Reconnected && v.Made == made && last == behind {
				trusted = v.Connection
			}
			return resync && trusted != v.Connection
		}
	}
}
