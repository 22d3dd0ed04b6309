package pack

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/expression"
	"parley/internal/jsonform"
	"parley/steps"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// TargetDials implements steps.RecordingConverter.
func (p *Pack) TargetDials(string) bool { return false }

// CombinedSteps implements steps.RecordingConverter.
func (p *Pack) CombinedSteps() []steps.Fold { return nil }

// ConvertRecording implements steps.RecordingConverter: each message of a client is sent as its template has it, with
// the members that differ, and is answered if a rule owes it something.
func (p *Pack) ConvertRecording(what steps.ConvertedRecording) func(transcript.Record) ([]string, bool) {
	t := &tale{doc: p.doc, model: newModel(p.doc, obligation.Ours), kept: map[string]map[string]any{},
		codec: codec{binding: p.doc.binding(), doc: p.doc, driver: what.Driver}}
	return t.convert
}

// tale is what the steps of a recording have come to.
type tale struct {
	doc   *document
	codec codec
	model *model
	kept  map[string]map[string]any // by client
	owed  string                    // the client whose last message is owed an answer that no step awaits yet
}

func (t *tale) convert(r transcript.Record) (lines []string, known bool) {
	if r.N == 0 {
		return t.await(nil), true
	}
	if r.Event == nil {
		t.codec.decode(&r)
	}
	t.model.Take(r)
	known = true
	for _, m := range t.doc.messages(r) {
		if t.kept[r.Conn] == nil {
			t.kept[r.Conn] = map[string]any{}
		}
		switch {
		case m.from == "server":
			t.doc.keep(m, t.model.scopeOf(m), t.kept[r.Conn])
		case m.kind == connecting:
			lines = append(t.await(lines), fmt.Sprintf("client %s is connected", r.Conn))
		case r.Kind == transcript.Closed:
			lines = append(t.await(lines), fmt.Sprintf("client %s disconnects", r.Conn))
		default:
			lines = t.await(lines)
			var more []string
			more, known = t.sent(m)
			lines = append(lines, more...)
		}
	}
	return lines, known
}

// await adds the step that waits for what the last message is owed.
func (t *tale) await(lines []string) []string {
	if t.owed != "" {
		lines = append(lines, fmt.Sprintf("client %s is answered", t.owed))
		t.owed = ""
	}
	return lines
}

// sent returns the step that sends a message, if the document has its type.
func (t *tale) sent(m *message) (lines []string, known bool) {
	if t.model.caused[m.r.N] {
		t.owed = m.r.Conn
	}
	template, is := t.doc.sends[m.kind].(map[string]any)
	body, object := m.it.(map[string]any)
	if !is || !object {
		t.owed = ""
		return nil, false
	}
	others := map[string]any{}
	for name, v := range body {
		if name == strings.TrimPrefix(string(t.doc.sentAt), "/") {
			continue
		}
		if of, there := template[name]; !there || !t.asTemplate(of, v, m.r.Conn) {
			others[name] = t.reused(v, m.r.Conn)
		}
	}
	line := fmt.Sprintf("client %s sends %q", m.r.Conn, m.kind)
	if len(others) > 0 {
		b, err := json.Marshal(others, json.Deterministic(true), jsonform.Unescaped)
		if err != nil {
			return nil, false
		}
		line += " with " + string(b)
	}
	for _, name := range slices.Sorted(maps.Keys(template)) {
		if _, there := body[name]; !there && len(others) == 0 {
			return []string{line + fmt.Sprintf(" without %q", name)}, true
		}
	}
	return []string{line}, true
}

// asTemplate reports whether a value is what the template of its member would send: a new text, what the client keeps,
// or the same.
func (t *tale) asTemplate(of, v any, conn string) bool {
	text, is := of.(string)
	if !is || !hole.MatchString(text) {
		return reflect.DeepEqual(expression.Plain(of), v)
	}
	if m := hole.FindStringSubmatch(text); m[0] == text && m[1] != "new" {
		return reflect.DeepEqual(t.kept[conn][m[1]], v)
	}
	_, is = v.(string)
	return is && strings.Contains(text, "${new}")
}

// reused returns a value, or the hole that is filled in with it if a client keeps it.
func (t *tale) reused(v any, conn string) any {
	for _, of := range append([]string{conn}, slices.Sorted(maps.Keys(t.kept))...) {
		for _, name := range slices.Sorted(maps.Keys(t.kept[of])) {
			switch {
			case !reflect.DeepEqual(t.kept[of][name], v):
			case of == conn:
				return "${" + name + "}"
			default:
				return "${" + of + "." + name + "}"
			}
		}
	}
	return v
}
