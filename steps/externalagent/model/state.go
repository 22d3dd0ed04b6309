package model

import (
	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// State is what a host shows and announces, from a snapshot.state or a state.updated. The zero value is none.
type State struct {
	message

	UI, History, Tools any
}

// StateOf returns the state that a message carries.
func StateOf(r *transcript.Record) State { return *stateOf(read(*r)) }

func stateOf(m message) *State {
	return &State{message: m, UI: m.body[vocab.Spec], History: m.body[vocab.MessageHistory],
		Tools: m.body[vocab.ToolSchema]}
}

// Members are the members of a state, in comparison order.
var Members = []string{vocab.Spec, vocab.MessageHistory, vocab.ToolSchema}

// Member returns a member of a state by its name in the payload.
func (s State) Member(name string) any {
	switch name {
	case vocab.Spec:
		return s.UI
	case vocab.MessageHistory:
		return s.History
	}
	return s.Tools
}

// List returns the announced toolSchema as an array, or nil if it is not one.
func (s State) List() []any {
	list, _ := s.Tools.([]any)
	return list
}

// equal reports whether two states are the same.
func (s *State) equal(o *State) bool {
	return wjson.Equal(s.UI, o.UI) && wjson.Equal(s.History, o.History) && wjson.Equal(s.Tools, o.Tools)
}

// null reports whether no spec is active.
func (s *State) null() bool {
	v, there := s.body[vocab.Spec]
	return s.body != nil && there && v == nil
}

// IsUpdate reports whether a state.updated carried it.
func (s State) IsUpdate() bool { return s.kind == vocab.StateUpdated }
