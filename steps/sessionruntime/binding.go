// Package sessionruntime holds the steps of the session-runtime features. The harness plays the message bus and every
// party on it except the orchestrator: it decides what is delivered and when.
package sessionruntime

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	vocab "parley/protocol/sessionruntime"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/model"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// codec maps messages to the target's wire and back. It is pure: no I/O, no state.
type codec struct{ wire binding.Binding }

func newCodec(p *target.Profile) *codec { return &codec{wire: *binding.Of(p)} }

// frame is a message that the harness delivers, in the names of the default binding.
type frame struct {
	id, session, event, subtype string
	from                        string // judge.Frontend, judge.Manager, judge.Logger, or an agent's id
	target, targetID            string // "" is SYSTEM
	payload                     any
	trace, turn, tx             string
	mention                     string // of a USER_INPUT with subtype MENTION
	stream                      *stream
	meta                        map[string]any // the sender's own
	fields                      []field        // written to the payload, or wherever this wire has them
	now                         time.Time
}

// field is a value and the places of the wire where it is written: all of them, or only the first.
type field struct {
	places target.Pointers
	all    bool
	free   bool // written only to places that are still empty
	value  any
}

// stream marks a piece of an agent's output.
type stream struct {
	chunk bool
	seq   int
	final bool
}

// writer writes values into a document and keeps the first error.
type writer struct {
	doc map[string]any
	err error
}

// put writes a value at each of the places.
func (w *writer) put(v any, places ...target.Pointer) {
	for _, p := range places {
		if w.err == nil && p != "" {
			w.err = p.Set(w.doc, v)
		}
	}
}

// first writes a non-empty text at the first place that accepts it: one whose parents are objects.
func (w *writer) first(v string, places target.Pointers) {
	var last error
	for _, p := range places {
		if v == "" || w.err != nil {
			return
		}
		if last = p.Set(w.doc, v); last == nil {
			return
		}
	}
	w.err = last
}

// field writes a value that a step puts into the payload, or wherever this wire has it.
func (w *writer) field(fd field) {
	for i, p := range fd.places {
		if _, there := p.Get(w.doc); (i == 0 || fd.all) && !(fd.free && there) {
			w.put(fd.value, p)
		}
	}
}

// encode returns the driver message for a frame.
func (b *codec) encode(f frame) (driver.Message, error) {
	at, w := b.wire.Fields, &writer{doc: map[string]any{}}
	w.put(f.payload, at.Payload)
	w.put(cloned(f.meta), at.Metadata)
	for _, fd := range f.fields {
		w.field(fd)
	}
	w.put(f.id, at.ID)
	w.put(f.session, at.Session)
	w.put(b.wire.EventName(f.event), at.Event)
	if f.subtype != "" {
		w.put(b.wire.SubtypeName(f.subtype), at.Subtype...)
	}
	w.put(b.sender(f.from), at.Sender)
	w.put(b.wire.TargetName(cmp.Or(f.target, vocab.ToSystem)), at.Target)
	if f.targetID != "" {
		w.put(f.targetID, at.TargetID)
	}
	w.put(f.now.UTC().Format(time.RFC3339Nano), at.Timestamp)
	w.first(f.trace, at.TraceID)
	w.first(f.turn, at.TurnID)
	w.first(f.tx, at.TxID)
	if f.mention != "" {
		w.put(f.mention, at.Mention...)
	}
	if f.stream != nil {
		w.put(f.stream.chunk, at.IsChunk)
		w.put(f.stream.seq, at.Seq)
		w.put(f.stream.final, at.Final)
	}
	if w.err != nil {
		return driver.Message{}, fmt.Errorf("%s %s: %w", f.event, f.subtype, w.err)
	}
	body, err := wjson.Encode(w.doc)
	if err != nil {
		return driver.Message{}, fmt.Errorf("encode %s %s: %w", f.event, f.subtype, err)
	}
	return driver.Message{Label: strings.TrimSpace(f.event + " " + f.subtype), Body: body}, nil
}

// output returns the payload of an agent that says a text: the text itself, unless this wire has ids or marks of an
// output only within its payload.
func (b *codec) output(said string) any {
	at := b.wire.Fields
	within := func(p target.Pointer) bool { return strings.HasPrefix(string(p), string(at.Payload)+"/") }
	for _, places := range []target.Pointers{at.TurnID, at.TraceID, {at.IsChunk}, {at.Seq}, {at.Final}} {
		if len(places) > 0 && !slices.ContainsFunc(places, func(p target.Pointer) bool { return !within(p) }) {
			return map[string]any{"text": said}
		}
	}
	return said
}

// cloned copies the sender's metadata, deep enough that the binding's own marks do not get into the original.
func cloned(meta map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range meta {
		if object, ok := v.(map[string]any); ok {
			v = cloned(object)
		}
		out[name] = v
	}
	return out
}

// sender returns the sender field's value for a party.
func (b *codec) sender(from string) string {
	switch from {
	case judge.Frontend:
		return b.wire.Senders.Frontend
	case judge.Manager:
		return b.wire.Senders.Manager
	case judge.Logger:
		return b.wire.Senders.Logger
	case judge.Self:
		return b.wire.Senders.Session
	}
	return from
}

// party returns the party that a sender field names.
func (b *codec) party(sender string) string {
	s := b.wire.Senders
	switch sender {
	case s.Frontend:
		return judge.Frontend
	case s.Manager:
		return judge.Manager
	case s.Logger:
		return judge.Logger
	case s.Session:
		return judge.Self
	}
	return sender
}

// decode fills a record's Event: the message in the protocol's terms. Set-up and fence frames have Types of their
// own.
func (b *codec) decode(r *transcript.Record) {
	if r.Kind != transcript.Frame || r.Type != "text" {
		return
	}
	v, faults, err := wjson.Decode(r.Bytes)
	doc, object := v.(map[string]any)
	if err != nil || !object {
		return
	}
	ev := &transcript.Event{Envelope: v}
	for _, f := range faults {
		ev.Faults = append(ev.Faults, fmt.Sprint(f))
	}
	if control, ok := doc["parley"].(string); ok {
		ev.Type, ev.Data = "parley "+control, doc
	} else {
		data := b.message(v)
		ev.Data = data
		ev.Type = strings.TrimSpace(fmt.Sprint(data[judge.EventName]) + " " + text(data[judge.Subtype]))
		if data[judge.EventName] == nil {
			ev.Type = ""
		}
	}
	r.Event = ev
	if r.Label == "" {
		r.Label = ev.Type
	}
}

// message returns the members that judge.Read reads.
func (b *codec) message(v any) map[string]any {
	at, data := b.wire.Fields, map[string]any{}
	get := func(name string, places ...target.Pointer) {
		for _, p := range places {
			if m, found := p.Get(v); found && m != nil && p != "" {
				data[name] = m
				return
			}
		}
	}
	get(judge.ID, at.ID)
	get(judge.Session, at.Session)
	get(judge.Sender, at.Sender)
	get(judge.TargetID, at.TargetID)
	get(judge.Payload, at.Payload)
	get(judge.Metadata, at.Metadata)
	get(judge.Trace, at.TraceID...)
	get(judge.Turn, at.TurnID...)
	get(judge.Tx, at.TxID...)
	get(judge.Chunk, at.IsChunk)
	get(judge.Final, at.Final)
	get(judge.TargetAgent, at.TargetAgent...)
	get(judge.AgentID, at.AgentID...)
	get(judge.EventName, at.Event)
	get(judge.Subtype, at.Subtype...)
	get(judge.Target, at.Target)
	if name, ok := data[judge.EventName].(string); ok {
		data[judge.EventName] = canonical(name, b.wire.EventOf)
	}
	if data[judge.EventName] == vocab.Error && text(data[judge.Subtype]) == "" {
		get(judge.Subtype, at.Code...)
	}
	if name, ok := data[judge.Subtype].(string); ok {
		data[judge.Subtype] = canonical(name, b.wire.SubtypeOf)
	}
	if name, ok := data[judge.Target].(string); ok {
		data[judge.Target] = canonical(name, b.wire.TargetOf)
	}
	data[judge.From] = b.party(text(data[judge.Sender]))
	for name, places := range map[string]target.Pointers{judge.SwitchFrom: at.From, judge.SwitchTo: at.To,
		judge.Reason: at.Reason, judge.Trigger: at.Trigger} {
		for _, p := range places { // a null member counts as present: a switch from nobody
			if m, found := p.Get(v); found && data[name] == nil {
				data[name] = m
			}
		}
	}
	if data[judge.Subtype] == vocab.Mention {
		get("mention", at.Mention...)
	}
	data[judge.Marks] = b.marks()
	return data
}

// canonical returns the default name of a wire name. A default name that this wire has renamed is put in parentheses.
func canonical(name string, of func(string) string) string {
	if known := of(name); known != "" || name == "" {
		return known
	}
	return "(" + name + ")"
}

// marks returns the names within metadata that belong to the binding.
func (b *codec) marks() []string {
	at := b.wire.Fields
	out := []string{vocab.Visibility}
	for _, places := range []target.Pointers{at.TraceID, at.TurnID, at.TxID, at.Subtype, at.Mention,
		{at.IsChunk, at.Seq, at.Final}} {
		for _, p := range places {
			rest, within := strings.CutPrefix(string(p), string(at.Metadata)+"/")
			if name, _, _ := strings.Cut(rest, "/"); within && name != "" {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func text(v any) string { s, _ := v.(string); return s }
