package mutants

import (
	"context"
	"maps"

	"github.com/coder/websocket"

	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/wire"
)

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

// rewriting changes the messages of a type; "" means all.
func rewriting(kind string, f func(msg message) message) fault {
	return telling(func(_ view, msg message, send sender) {
		if kind == "" || msg.Type() == kind {
			msg = f(msg)
		}
		send(msg)
	})
}

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

// setting sets a payload member in the messages of a type.
func setting(kind, name string, v any) fault { return with(kind, func(p object) { p[name] = v }) }

// lacking removes a payload member from the messages of a type.
func lacking(kind, name string) fault { return with(kind, func(p object) { delete(p, name) }) }

// rename renames a member, if present.
func rename(p object, name, to string) {
	if v, there := p[name]; there {
		p[to] = v
		delete(p, name)
	}
}

// replace replaces the value of a member, if present.
func replace(p object, name string, v any) {
	if _, there := p[name]; there {
		p[name] = v
	}
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
