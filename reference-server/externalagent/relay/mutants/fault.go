// Package mutants is the catalogue of faulty relays of external-agent: each is the bundled relay with one named fault
// that a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, with what they do to messages; the other faults are in the other files, by subject.
// A fault changes a decision by relay.Policy, or frames on their way in or out.
package mutants

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/faultrule"
	proto "parley/protocol/externalagent"
	"parley/reference-server/catalogue"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/wire"
)

//go:embed catalogue.yaml
var rows []byte

// Catalogue has the mutants. The state of a fault belongs to the options it is set up in, which make one relay.
var Catalogue = catalogue.New[options](rows,
	joinedFaults, joiningFaults, hostFaults, sessionFaults, routingFaults, lossFaults, orderFaults, replyFaults,
	contentFaults,
	envelopeFaults, refusalFaults, connectionFaults, cutFaults, memoryFaults).Messages(altering)

// altering puts in what a row does to messages. The party of a message is the role that has sent it, and the number of
// the connection that it goes to.
func altering(o *options, f catalogue.Faults) {
	x := catalogue.Inside(f, faultrule.Form[[]byte]{
		TypeOf: faultrule.TypeAt("/type"),
		Write:  func(data []byte) faultrule.Content { return faultrule.Content{Body: data} },
		Read:   func(_ []byte, c faultrule.Content) []byte { return c.Body },
	})
	o.Outbound = func(_ view, from, to party, data []byte, send sender) {
		by := fmt.Sprint(cmp.Or(from.Role, proto.Relay), " ", to.Conn)
		for _, data := range x.Pass(by, faultrule.Server, data) {
			send(to.Conn, data)
		}
	}
}

// Short names for what every fault handles.
type (
	view     = relay.Relay
	party    = relay.Party
	envelope = relay.Envelope
	frame    = relay.Frame
	message  = relay.Message
	request  = relay.Request
	refusal  = relay.Refusal
	options  = relay.Options
	sender   = func(conn int, frame []byte)
	object   = wire.Object
)

// fault sets itself up in the options of one relay. Its state needs no lock, because the relay holds one.
type fault func(o *options)

// Faults in one decision of a stateless policy.

func checking(f func(name string, from party, e *envelope, why *refusal) *refusal) fault {
	return func(o *options) { o.Policy.Check = f }
}

func joining(f func(v view, from party, e *envelope, j proto.Join, why *refusal) (proto.Join, *refusal)) fault {
	return func(o *options) { o.Policy.Join = f }
}

func routing(f func(v view, from party, e *envelope, to []party) []party) fault {
	return func(o *options) { o.Policy.Recipients = f }
}

func unjoined(f func(v view, from party, e *envelope, why *refusal) *refusal) fault {
	return func(o *options) { o.Policy.Unjoined = f }
}

func hostless(f func(v view, from party, e *envelope, why *refusal) *refusal) fault {
	return func(o *options) { o.Policy.HostAbsent = f }
}

// joinedAs changes relay.joined.
func joinedAs(f func(msg message) message) fault {
	return func(o *options) {
		o.Policy.Joined = func(_ view, _ party, _ proto.Join, msg message) message { return f(msg) }
	}
}

// failingAs changes the relay's errors.
func failingAs(f func(msg message) message) fault {
	return func(o *options) {
		o.Policy.Error = func(_ party, _ request, _ refusal, msg message) message { return f(msg) }
	}
}

// hearing replaces each incoming frame by others; f also gets the frame as an envelope.
func hearing(f func(v view, from party, f frame, e *envelope) []frame) fault {
	return func(o *options) {
		o.Inbound = func(v view, from party, in frame) []frame { return f(v, from, in, relay.Read(in)) }
	}
}

// dropping ignores some frames.
func dropping(which func(e *envelope) bool) fault {
	return hearing(func(_ view, _ party, f frame, e *envelope) []frame {
		if which(e) {
			return nil
		}
		return []frame{f}
	})
}

// members are the members of a JSON object, with their values as written.
type members = map[string]jsontext.Value

// edited returns an object with edited members; any other text is unchanged.
func edited(raw []byte, f func(m members)) []byte {
	var m members
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return raw
	}
	f(m)
	return wire.Encode(m)
}

// inPayload edits the members of an envelope's payload.
func inPayload(f func(p members)) func(m members) {
	return func(m members) { m["payload"] = edited(m["payload"], f) }
}

// passing changes passed-on envelopes of some types, or of all types if none is named.
func passing(f func(m members), types ...string) fault {
	return func(o *options) {
		o.Policy.Pass = func(_, _ party, e *envelope, data []byte) []byte {
			if !ofType(e, types...) {
				return data
			}
			return edited(data, f)
		}
	}
}

// ofType reports whether an envelope has one of the types; it does if no types are given.
func ofType(e *envelope, types ...string) bool {
	for _, t := range types {
		if e.Type() == t {
			return true
		}
	}
	return len(types) == 0
}

// is matches the envelopes of a type.
func is(kind string) func(from party, e *envelope) bool {
	return func(_ party, e *envelope) bool { return e.Type() == kind }
}

func typeOf(data []byte) string { return relay.Read(frame{Data: data}).Type() }

func isAgent(p party) bool { return p.Role == proto.AgentRole }
func isHost(p party) bool  { return p.Role == proto.HostRole }

// isJoin reports whether an envelope is a relay.join, whatever else is wrong with it.
func isJoin(e *envelope) bool { return e.Fault == "" && e.Type() == proto.RelayJoin }

// isAnswer reports whether an envelope comes from a host and has replyTo.
func isAnswer(from party, e *envelope) bool {
	_, answers := e.ReplyTo()
	return isHost(from) && answers
}

var goodbye = websocket.CloseError{Code: websocket.StatusNormalClosure, Reason: "bye"}

// cutFaults show only if the connection of an agent ends at a certain point, and the agent then reconnects.
var cutFaults = map[string]fault{
	"end-after-a-message-loses-snapshots": returning(snapshotsLostAfter(proto.AgentMessage)),
	"end-after-the-start-loses-snapshots": returning(snapshotsLostAfter(proto.SessionStart)),
	"end-after-a-call-loses-snapshots":    returning(snapshotsLostAfter(proto.ToolCall)),
}

// endings records how the connections of agents ended.
type endings struct {
	trails map[string]*trail // by relay session
	before map[int]*trail    // connection → the agent's earlier connection
}

type trail struct {
	session string
	conn    int
	last    string // type of the last message
}

// returning sets up a fault that depends on how an agent's earlier connection ended.
func returning(put func(o *options, h *endings)) fault {
	return func(o *options) {
		h := &endings{trails: map[string]*trail{}, before: map[int]*trail{}}
		o.Policy.Join = h.join
		put(o, h)
	}
}

// join notes that an agent joins, and which connection the session had before.
func (h *endings) join(_ view, from party, _ *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
	if why != nil || j.Role != proto.AgentRole {
		return j, why
	}
	old := h.trails[j.SessionID]
	if old != nil && old.conn != from.Conn {
		h.before[from.Conn] = old
	}
	h.trails[j.SessionID] = &trail{session: j.SessionID, conn: from.Conn, last: proto.RelayJoin}
	return j, nil
}

// route passes on all messages of agents except some, depending on how their earlier connection ended. It checks that
// end only when a message comes, because a reset may be noticed after the agent has joined again.
func (h *endings) route(
	lost func(v view, before *trail, kind string) bool) func(view, party, *envelope, []party) []party {
	return func(v view, from party, e *envelope, to []party) []party {
		if !isAgent(from) {
			return to
		}
		if t := h.trails[from.Session]; t != nil && t.conn == from.Conn {
			t.last = e.Type()
		}
		if before := h.before[from.Conn]; before != nil && lost(v, before, e.Type()) {
			return nil
		}
		return to
	}
}

// snapshotsLostAfter loses the requests of an agent whose earlier connection ended after a message of the type last.
func snapshotsLostAfter(last string) func(o *options, h *endings) {
	return func(o *options, h *endings) {
		o.Policy.Recipients = h.route(func(v view, before *trail, kind string) bool {
			return before.last == last && kind == proto.SnapshotGet &&
				// a second agent of a session that has just started is not a reconnected first agent
				(last != proto.SessionStart || !there(v, before))
		})
	}
}

// there reports whether the connection of a trail is still open.
func there(v view, t *trail) bool {
	return slices.ContainsFunc(v.Agents(t.session), func(p party) bool { return p.Conn == t.conn })
}
