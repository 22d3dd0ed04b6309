package steps

import (
	"bytes"

	"parley/driver"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// Recognisable is what a protocol offers beyond whose targets are servers: what shows that one speaks it. A target from
// which nothing of the protocol ever came is not judged: it is another kind of server, or none.
type Recognisable interface {
	// Ours reports whether a decoded message can only be of this protocol's server, in the default binding. name is that
	// of the event on an event stream; "" elsewhere.
	Ours(message any, name string) bool
	// Heard reports whether an event, as the binding of a profile has decoded it, is one of this protocol's server.
	Heard(ev *transcript.Event) bool
	// Places are where servers of the protocol usually are, the default one first.
	Places() []Place
	// PlaceKey is the key of a profile that says where the target is, over a driver.
	PlaceKey(driver string) string
}

// Prober is what a protocol offers beyond whose targets may take long for their first word in preflight, and have
// something to say that takes no time.
type Prober interface {
	// Probe is a connection, and messages that a target answers at once, the most harmless first.
	Probe(env *Env, run target.Running) (driver.OpenOptions, []driver.Message, error)
}

// Place is where a server may be found, and what is said there to have it say something.
type Place struct {
	Driver string
	Path   string
	Say    []string // messages, each a text frame; none on an event stream
}

// Heard reports whether anything of a protocol came in a transcript. What the target has only sent back does not count.
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
	for _, v := range list { // a list of messages is badly said, and of the protocol all the same
		if p.Ours(v, name) {
			return true
		}
	}
	return false
}

// sentBack reports whether a record holds what the harness has sent before it.
func sentBack(r transcript.Record, records []transcript.Record) bool {
	for _, s := range records {
		if s.N < r.N && s.Dir == transcript.Sent && bytes.Equal(s.Bytes, r.Bytes) {
			return true
		}
	}
	return false
}

// Text is the member of a decoded object that is text; "" where it is none.
func Text(v any, name string) string {
	obj, _ := v.(map[string]any)
	s, _ := obj[name].(string)
	return s
}

// Has counts the members of a decoded object among some names.
func Has(v any, names ...string) (n int) {
	obj, _ := v.(map[string]any)
	for _, name := range names {
		if _, ok := obj[name]; ok {
			n++
		}
	}
	return n
}
