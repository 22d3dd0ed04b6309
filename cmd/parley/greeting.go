package main

import (
	"maps"
	"slices"
	"strings"

	proto "parley/protocol/agentselect"
	"parley/target"
	wjson "parley/wire/json"
)

// said is one event as it came: the event: field that named it, "" without one, and its data, decoded.
type said struct {
	name string
	data any
}

// greeting is what the first events of a connection tell about a server's wire.
type greeting struct {
	wire      target.AgentSelect // the default binding, with what was seen to differ
	connected string             // the name of the event that tells the connection's id; "" when none came
	listed    string             // the name of the event that lists the agents; "" when none came
	agents    []proto.AgentInfo
	current   string // currentAgentId of the list; "" for null or none
}

// readGreeting finds the envelope of a server's events, and in them the connection's id and the list of agents. Names of
// fields are recognised however they are written: connection_id is connectionId.
func readGreeting(events []said) greeting {
	g := greeting{wire: target.DefaultAgentSelect()}
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

// complete tells whether nothing more is to be learned.
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

// envelopeOf tells where events keep their type and their data, by the first that shows it. An object that names its own
// type counts before the event: field, which may stand beside it.
func envelopeOf(events []said) target.Envelope {
	e := target.DefaultAgentSelect().Envelope
	for _, ev := range events {
		obj, ok := ev.data.(map[string]any)
		if !ok {
			continue
		}
		if key := textMember(obj, "type", "event", "eventtype", "kind"); key != "" {
			e.Type = pointer(key)
			e.Data = ""
			if key := member(obj, "data", "payload", "body"); key != "" {
				e.Data = pointer(key)
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

// readList takes an event as the list of agents, if there is one in it.
func (g *greeting) readList(name string, data any) bool {
	at, list := findList(data, "", 2)
	if list == nil {
		return false
	}
	f := &g.wire.Fields
	f.Event.Agents = at
	f.Agent.ID = pointer(idMember(list))
	first := list[0].(map[string]any)
	setMember(&f.Agent.Name, first, "name", "title", "label", "displayname", "agentname")
	setMember(&f.Agent.Description, first, "description", "desc", "summary", "about")
	obj, _ := data.(map[string]any)
	setMember(&f.Event.CurrentAgentID, obj, "currentagentid", "currentagent", "current", "activeagentid", "activeagent")
	if v, ok := f.Event.CurrentAgentID.Get(data); ok {
		g.current, _ = v.(string)
	}
	for _, entry := range list {
		var a proto.AgentInfo
		a.ID = text(f.Agent.ID, entry)
		a.Name, a.Description = text(f.Agent.Name, entry), text(f.Agent.Description, entry)
		g.agents = append(g.agents, a)
	}
	g.listed = name
	g.rename(proto.AgentListEvent, name)
	return true
}

// readConnected takes an event as the one that tells the connection's id, if it does.
func (g *greeting) readConnected(name string, data any) {
	obj, _ := data.(map[string]any)
	names := []string{"connectionid", "connid", "clientid", "streamid", "connection"}
	if name == proto.ConnectedEvent {
		names = append(names, "id")
	}
	key := textMember(obj, names...)
	if key == "" && name != proto.ConnectedEvent {
		return
	}
	if key != "" {
		g.wire.Fields.Event.ConnectionID = pointer(key)
	}
	g.connected = name
	g.rename(proto.ConnectedEvent, name)
}

// rename notes what this wire calls an event.
func (g *greeting) rename(event, name string) {
	if event == name {
		return
	}
	if g.wire.Events == nil {
		g.wire.Events = map[string]string{}
	}
	g.wire.Events[event] = name
}

// findList finds a list of agents: objects, each with a text that is its id.
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
			if p, list := findList(v[key], at+pointer(key), depth-1); list != nil {
				return p, list
			}
		}
	}
	return "", nil
}

// idMember is the member that holds the id in every entry of a list; "" when it is no list of agents. The built-in agents
// tell best which one it is.
func idMember(list []any) string {
	if len(list) == 0 {
		return ""
	}
	best := ""
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
		key := textMember(obj, "id", "agentid", "key", "slug")
		if key == "" || i > 0 && key != best {
			return ""
		}
		best = key
	}
	return best
}

// member finds the member of an object whose name, written in whichever way, is one of these; the first name wins.
func member(obj map[string]any, names ...string) string {
	return memberWhere(obj, func(any) bool { return true }, names)
}

// textMember is member for those that hold text that is not empty.
func textMember(obj map[string]any, names ...string) string {
	return memberWhere(obj, func(v any) bool { s, ok := v.(string); return ok && s != "" }, names)
}

func memberWhere(obj map[string]any, holds func(any) bool, names []string) string {
	for _, name := range names {
		for _, key := range slices.Sorted(maps.Keys(obj)) {
			if plain(key) == name && holds(obj[key]) {
				return key
			}
		}
	}
	return ""
}

// setMember points to a member, if there is one.
func setMember(p *target.Pointer, obj map[string]any, names ...string) {
	if key := member(obj, names...); key != "" {
		*p = pointer(key)
	}
}

// plain is a name without its way of writing: currentAgentId and current_agent_id are the same.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

func pointer(key string) target.Pointer { return target.Pointer(wjson.FormatPointer(key)) }

func text(p target.Pointer, v any) string {
	found, _ := p.Get(v)
	s, _ := found.(string)
	return s
}

// findSessionID finds the id of a session in the answer that created it.
func findSessionID(v any) (target.Pointer, string) {
	for _, p := range []target.Pointer{"/session/id", "/sessionId", "/session_id", "/data/sessionId"} {
		if id := text(p, v); id != "" {
			return p, id
		}
	}
	if p, id := findText(v, "", 3, "sessionid", "sid", "session"); id != "" {
		return p, id
	}
	return findText(v, "", 3, "id")
}

// findText finds the first text, from the outside in, whose name is one of these.
func findText(v any, at target.Pointer, depth int, names ...string) (target.Pointer, string) {
	obj, ok := v.(map[string]any)
	if !ok || depth == 0 {
		return "", ""
	}
	if key := textMember(obj, names...); key != "" {
		return at + pointer(key), obj[key].(string)
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if p, id := findText(obj[key], at+pointer(key), depth-1, names...); id != "" {
			return p, id
		}
	}
	return "", ""
}
