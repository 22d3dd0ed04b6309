package probe

import (
	"maps"
	"slices"

	proto "parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/steps/probe"
	"parley/target"
)

// said is one event as received: its event: field, "" without one, and its decoded data.
type said struct {
	name string
	data any
}

// greeting is what the first events of a connection reveal about a server's wire.
type greeting struct {
	wire      binding.Binding // the default binding with the differences seen
	connected string          // the event with the connection's id; "" if none came
	listed    string          // the event that lists the agents; "" if none came
	agents    []proto.AgentInfo
	current   string // currentAgentId of the list; "" for null or none
}

// readGreeting finds the envelope of a server's events, the connection's id and the list of agents. Field names are
// recognised in any style: connection_id is connectionId.
func readGreeting(events []said) greeting {
	g := greeting{wire: binding.Default()}
	g.wire.Envelope = envelopeOf(events)
	for _, ev := range events {
		name, data := g.open(ev)
		if name == "" {
			continue
		}
		if g.listed == "" && g.readList(name, data) {
			continue
		}
		if g.connected == "" {
			g.readConnected(name, data)
		}
	}
	return g
}

// complete reports whether there is nothing more to learn.
func (g greeting) complete() bool { return g.listed != "" && g.connected != "" }

// open takes an event out of its envelope.
func (g greeting) open(ev said) (name string, data any) {
	e := g.wire.Envelope
	if e.SSEEvent {
		name = ev.name
	} else {
		v, _ := e.Type.Get(ev.data)
		name, _ = v.(string)
	}
	data, _ = e.Data.Get(ev.data)
	return name, data
}

// envelopeOf finds where events keep their type and data, from the first event that shows it. An object that names
// its own type takes precedence over the event: field.
func envelopeOf(events []said) binding.Envelope {
	e := binding.Default().Envelope
	for _, ev := range events {
		obj, ok := ev.data.(map[string]any)
		if !ok {
			continue
		}
		if key := probe.TextMember(obj, probe.Names(&e, &e.Type)...); key != "" {
			e.Type = probe.Pointer(key)
			e.Data = ""
			if key := probe.Member(obj, probe.Names(&e, &e.Data)...); key != "" {
				e.Data = probe.Pointer(key)
			}
			return e
		}
	}
	for _, ev := range events {
		if ev.name != "" && ev.name != "message" {
			e.Type, e.SSEEvent, e.Data = "", true, ""
			return e
		}
	}
	return e
}

// readList reads an event as the list of agents, and reports whether it contains one.
func (g *greeting) readList(name string, data any) bool {
	at, list := findList(data, "", 2)
	if list == nil {
		return false
	}
	f := &g.wire.Fields
	f.Event.Agents = at
	f.Agent.ID = probe.Pointer(idMember(list))
	first := list[0].(map[string]any)
	probe.PointTo(&f.Agent, &f.Agent.Name, first)
	probe.PointTo(&f.Agent, &f.Agent.Description, first)
	obj, _ := data.(map[string]any)
	probe.PointTo(&f.Event, &f.Event.CurrentAgentID, obj)
	if v, ok := f.Event.CurrentAgentID.Get(data); ok {
		g.current, _ = v.(string)
	}
	for _, entry := range list {
		var a proto.AgentInfo
		a.ID = probe.Text(f.Agent.ID, entry)
		a.Name, a.Description = probe.Text(f.Agent.Name, entry), probe.Text(f.Agent.Description, entry)
		g.agents = append(g.agents, a)
	}
	g.listed = name
	g.rename(proto.AgentListEvent, name)
	return true
}

// readConnected reads an event as the one with the connection's id, if it has one.
func (g *greeting) readConnected(name string, data any) {
	obj, _ := data.(map[string]any)
	f := &g.wire.Fields.Event
	names := probe.Names(f, &f.ConnectionID)
	if name == proto.ConnectedEvent {
		names = append(names, "id")
	}
	key := probe.TextMember(obj, names...)
	if key == "" && name != proto.ConnectedEvent {
		return
	}
	if key != "" {
		f.ConnectionID = probe.Pointer(key)
	}
	g.connected = name
	g.rename(proto.ConnectedEvent, name)
}

// rename records this wire's name for an event.
func (g *greeting) rename(event, name string) {
	if event == name {
		return
	}
	if g.wire.Events == nil {
		g.wire.Events = map[string]string{}
	}
	g.wire.Events[event] = name
}

// findList finds a list of agents: objects, each with a string id.
func findList(v any, at target.Pointer, depth int) (target.Pointer, []any) {
	switch v := v.(type) {
	case []any:
		if idMember(v) != "" {
			return at, v
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if depth == 0 {
				break
			}
			if p, list := findList(v[key], at+probe.Pointer(key), depth-1); list != nil {
				return p, list
			}
		}
	}
	return "", nil
}

// idMember returns the member that holds the id in every entry of a list; "" if it is not a list of agents. The
// built-in agents identify it best.
func idMember(list []any) string {
	if len(list) == 0 {
		return ""
	}
	var f binding.AgentFields
	best, names := "", probe.Names(&f, &f.ID)
	for i, entry := range list {
		obj, ok := entry.(map[string]any)
		if !ok {
			return ""
		}
		for _, key := range slices.Sorted(maps.Keys(obj)) {
			if obj[key] == any(proto.General) {
				return key
			}
		}
		key := probe.TextMember(obj, names...)
		if key == "" || i > 0 && key != best {
			return ""
		}
		best = key
	}
	return best
}

// findSessionID finds the session id in the answer that created the session.
func findSessionID(v any) (target.Pointer, string) {
	for _, p := range []target.Pointer{"/session/id", "/sessionId", "/session_id", "/data/sessionId"} {
		if id := probe.Text(p, v); id != "" {
			return p, id
		}
	}
	var f binding.AnswerFields
	if p, id := probe.FindText(v, "", 3, probe.Names(&f, &f.SessionID)...); id != "" {
		return p, id
	}
	return probe.FindText(v, "", 3, "id")
}
