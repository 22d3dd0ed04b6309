package steps

import (
	"bytes"

	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Recognisable is an optional interface of protocols whose targets are servers. It recognises messages of the
// protocol. A target that never sends any is not judged: it is another kind of server, or none.
type Recognisable interface {
	// Ours reports whether a decoded message can only come from a server of this protocol, in the default binding. name
	// is the event's name on an event stream; "" elsewhere.
	Ours(message any, name string) bool
	// Heard reports whether an event, decoded by the binding of a profile, comes from a server of this protocol.
	Heard(ev *transcript.Event) bool
	// Places returns where servers of the protocol usually are, the default one first.
	Places() []Place
	// PlaceKey returns the profile key that sets the place of the target over a driver.
	PlaceKey(driver string) string
}

// Prober is an optional interface of protocols whose targets may take long for their first message in preflight, and
// that have messages which a target can answer at once.
type Prober interface {
	// Probe returns a connection, and messages that a target answers at once, the most harmless first.
	Probe(env *Env, run target.Running) (driver.OpenOptions, []driver.Message, error)
}

// Place is where a server may be found, and what to send there to make it answer.
type Place struct {
	Driver string
	Path   string
	Say    []string // messages, one text frame each; none on an event stream
}

// Heard reports whether a transcript has a message of a protocol from the target. Echoes of the harness's own
// messages do not count.
func Heard(p Recognisable, records []transcript.Record) bool {
	for _, r := range records {
		if r.Dir != transcript.Received || len(r.Bytes) == 0 {
			continue
		}
		if (r.Event != nil && p.Heard(r.Event) || ours(p, r)) && !sentBack(r, records) {
			return true
		}
	}
	return false
}

func ours(p Recognisable, r transcript.Record) bool {
	if len(r.Bytes) > mostHeard {
		return false
	}
	name := ""
	if r.Kind == transcript.Stream {
		name = r.Type
	}
	v, _, err := wjson.Decode(r.Bytes)
	if err != nil {
		v = nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, v := range list { // a list of messages is malformed, but still of the protocol
		if p.Ours(v, name) {
			return true
		}
	}
	return false
}

// mostHeard is the size of the largest message by which an unknown target is recognised: decoding takes many times
// that, and what targets say first is short.
const mostHeard = 256 << 10

// sentBack reports whether a record repeats what the harness sent before it.
func sentBack(r transcript.Record, records []transcript.Record) bool {
	for _, s := range records {
		if s.N < r.N && s.Dir == transcript.Sent && bytes.Equal(s.Bytes, r.Bytes) {
			return true
		}
	}
	return false
}

// Text returns a string member of a decoded object; "" if it is missing or not a string.
func Text(v any, name string) string {
	obj, _ := v.(map[string]any)
	s, _ := obj[name].(string)
	return s
}

// Has counts how many of the given names are members of a decoded object.
func Has(v any, names ...string) (n int) {
	obj, _ := v.(map[string]any)
	for _, name := range names {
		if _, ok := obj[name]; ok {
			n++
		}
	}
	return n
}
