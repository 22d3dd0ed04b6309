package passive

import (
	"slices"

	"parley/steps/externalagent/toolschema"
	wjson "parley/transport/wire/json"
)

// target is the state of an agent under test.
type target struct {
	joined  bool
	ids     map[string]bool
	states  []toolschema.Tools // received on this connection, each once
	seen    []any              // as they were received
	partial bool               // some of them are unknown
}

// told handles a state that the agent receives.
func (l *line) told(m message) {
	list, ok := m.body["toolSchema"].([]any)
	parsed, err := toolschema.Parse(list)
	if !ok || err != nil {
		l.mine.partial = true
		return
	}
	if slices.ContainsFunc(l.mine.seen, func(t any) bool { return wjson.Equal(t, m.body["toolSchema"]) }) {
		return
	}
	if len(l.mine.states) >= mostStates {
		l.mine.partial = true
		return
	}
	l.mine.states, l.mine.seen = append(l.mine.states, parsed), append(l.mine.seen, m.body["toolSchema"])
}

// calls judges a call of the agent by the states that it has received in this session. The latest state may have
// crossed the call, so any of them may justify it.
func (l *line) calls(m message) {
	name := word(m, "toolName")
	if l.mine.partial || len(l.mine.states) == 0 || name == "" {
		return
	}
	known, fits := false, false
	for _, all := range l.mine.states {
		if tool := all.Find(name); tool != nil {
			known = true
			fits = fits || tool.Accepts(m.body["params"]) == nil
		}
	}
	l.v.check(agents, known, m, "a tool that was announced on this connection", "EA-096a")
	if known {
		l.v.check(agents, fits, m, "params that match the announced schema of "+name, "EA-081a")
	}
}
