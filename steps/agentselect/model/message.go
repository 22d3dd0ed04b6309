package model

import (
	"slices"
	"time"

	vocab "parley/protocol/agentselect"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

type (
	owed = obligation.Owed[message, *ask]
	book = obligation.Book[message, *ask]
)

// message is a record as the book reads it.
type message transcript.Record

// Record implements obligation.Message.
func (m message) Record() int { return m.N }

// Time implements obligation.Message.
func (m message) Time() time.Duration { return m.At }

// Title implements obligation.Message.
func (m message) Title() string {
	if m.Event != nil {
		return m.Event.Type
	}
	return string(m.Kind) + " " + m.Label
}

// ours are the events named by the protocol and its binding. Others may come at any time.
var ours = []string{vocab.ConnectedEvent, vocab.AgentListEvent, vocab.AgentSwitchedEvent, vocab.ErrorEvent,
	vocab.MessageEvent, vocab.CompleteEvent, vocab.ConfirmationRequestEvent, vocab.QuestionRequestEvent,
	vocab.SessionCreatedEvent, vocab.SessionLoadedEvent}

// member returns a member of a message's data, and whether it is present.
func member(r transcript.Record, name string) (any, bool) { return field(r.Event.Data, name) }

func field(object any, name string) (any, bool) { return wjson.Lookup(object, "/"+name) }

// text returns a member of a message's data; "" if it is not a string.
func text(r transcript.Record, name string) string {
	v, _ := member(r, name)
	s, _ := v.(string)
	return s
}

func isString(v any) bool { _, ok := v.(string); return ok }

// answersSwitch reports whether an event answers a switch_agent message: an error does if it has a code of section 4.2.
func answersSwitch(r transcript.Record) bool {
	return r.Event.Type == vocab.AgentSwitchedEvent || r.Event.Type == vocab.ErrorEvent && known(r)
}

// known reports whether an error has a code of section 4.2.
func known(r transcript.Record) bool {
	return slices.Contains(vocab.ErrorCodes, text(r, vocab.ErrorCode))
}

// namesIn maps the ids of a list in an event to their names.
func namesIn(r transcript.Record, key string) map[string]any {
	v, _ := member(r, key)
	all, _ := v.([]any)
	out := map[string]any{}
	for _, e := range all {
		entry, _ := e.(map[string]any)
		if id, ok := entry["id"].(string); ok {
			out[id] = entry["name"]
		}
	}
	return out
}

func hasBuiltins(names map[string]any) bool {
	return !slices.ContainsFunc(vocab.BuiltinIDs, func(id string) bool {
		_, has := names[id]
		return !has
	})
}

// sameAgents reports whether two lists have the same agents.
func sameAgents(a, b map[string]any) bool {
	for id := range a {
		if _, both := b[id]; !both {
			return false
		}
	}
	return len(a) == len(b)
}
