package invariants

import (
	"iter"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// message is an envelope in a transcript.
type message struct {
	*transcript.Record
	kind      string
	env, body object // body is the payload if it is an object
}

// messages iterates over the envelopes of a transcript, in order.
func messages(t []transcript.Record) iter.Seq[message] {
	return func(yield func(message) bool) {
		for i := range t {
			if t[i].Event != nil && !yield(messageOf(&t[i])) {
				return
			}
		}
	}
}

func messageOf(r *transcript.Record) message {
	m := message{Record: r, kind: r.Event.Type}
	m.env, _ = r.Event.Envelope.(object)
	m.body, _ = r.Event.Data.(object)
	return m
}

// received iterates over the envelopes sent by the target.
func received(t []transcript.Record) iter.Seq[message] {
	return func(yield func(message) bool) {
		for m := range messages(t) {
			if target(m.Record) && !yield(m) {
				return
			}
		}
	}
}

// target reports whether the target sent a message.
func target(r *transcript.Record) bool {
	return r.Dir == transcript.Received && r.Kind == transcript.Frame
}

func (m message) sent(kind string) bool { return m.Dir == transcript.Sent && m.kind == kind }

func (m message) isState() bool { return m.kind == vocab.StateUpdated || m.kind == vocab.SnapshotState }

// replyTo returns the replyTo of an answer, or "".
func (m message) replyTo() string {
	to, _ := m.env[vocab.ReplyTo].(string)
	return to
}

func (m message) finding(ok bool, clause, expected, observed string) verdict.Finding {
	return finding(m.Record, ok, clause, expected, observed)
}

func finding(r *transcript.Record, ok bool, clause, expected, observed string) verdict.Finding {
	f := verdict.Finding{Clauses: []string{clause}, OK: ok, At: r.N}
	if !ok {
		f.Expected, f.Observed = expected, observed+" in "+monitor.Describe(*r)
	}
	return f
}

// shaped judges a member of an envelope or a payload. It renders the member only if it is at fault, as a state may be
// long.
func (m message) shaped(ok bool, clause, expected, path string, in object, name string) verdict.Finding {
	if ok {
		return m.finding(true, clause, "", "")
	}
	observed := path + name + " is missing"
	if v, there := in[name]; there {
		observed = path + name + " is " + wjson.Compact(v)
	}
	return m.finding(false, clause, expected, observed)
}
