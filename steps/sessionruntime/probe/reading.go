package probe

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	proto "parley/protocol/sessionruntime"
	"parley/steps/probe"
	"parley/steps/sessionruntime/binding"
	"parley/target"
	wjson "parley/transport/wire/json"
)

// reading is what an orchestrator's messages reveal about its wire. A field is located by its value if that is known,
// such as the session's id, and otherwise by its name.
type reading struct {
	wire   binding.Binding // the default binding with the differences seen
	unseen []string        // keys of fields that were not located
	agent  string          // the active agent
	turn   string          // the turn's id; "" if none was found
	trace  string          // the trace's id; "" if none was found
}

// readInput reads what was published about an input whose payload contains token, in a session where agent is active.
// It returns false if no message takes the input to the agent.
func readInput(published []map[string]any, session, agent, token string) (*reading, bool) {
	h := &reading{wire: binding.Default(), agent: agent}
	route := routed(published, agent, token)
	if route == nil {
		return h, false
	}
	h.readRoute(route, session, token)
	h.name(&h.wire.Events, proto.UserInput, probe.Text(h.wire.Fields.Event, route))
	h.name(&h.wire.Targets, proto.ToAgent, probe.Text(h.wire.Fields.Target, route))
	h.ids(route)
	h.settle(route, h.accepted(published, route))
	return h, true
}

// routed returns the message that takes an input's token to an agent; nil if there is none.
func routed(published []map[string]any, agent, token string) map[string]any {
	for _, msg := range published {
		at := holder(msg, token)
		if at == "" {
			continue
		}
		if _, to := probe.Holding(without(msg, at), agent, "", 3); to {
			return msg
		}
	}
	return nil
}

// holder returns the member of a message that contains a token; "" if none does.
func holder(msg map[string]any, token string) string {
	for _, key := range slices.Sorted(maps.Keys(msg)) {
		if strings.Contains(wjson.Compact(msg[key]), token) {
			return key
		}
	}
	return ""
}

func without(msg map[string]any, key string) map[string]any {
	msg = maps.Clone(msg)
	delete(msg, key)
	return msg
}

// readRoute locates the members of a frame in a routed input.
func (h *reading) readRoute(route map[string]any, session, token string) {
	f := &h.wire.Fields
	body := holder(route, token)
	f.Payload = probe.Pointer(body)
	rest := without(route, body)
	h.found("metadata", &f.Metadata, probe.MemberWhere(rest, probe.IsObject, probe.Names(f, &f.Metadata)...))
	h.found("event", &f.Event, probe.TextMember(rest, probe.Names(f, &f.Event)...))
	h.found("target", &f.Target, probe.TextMember(rest, probe.Names(f, &f.Target)...))
	h.found("sender", &f.Sender, probe.TextMember(rest, probe.Names(f, &f.Sender)...))
	h.found("timestamp", &f.Timestamp, probe.Member(rest, probe.Names(f, &f.Timestamp)...))
	h.found("id", &f.ID, probe.Member(rest, probe.Names(f, &f.ID)...))
	if at, ok := probe.Holding(rest, session, "", 3); ok {
		f.Session = at
	} else {
		h.unseen = append(h.unseen, "session")
	}
	if at, ok := probe.Holding(rest, h.agent, "", 3); ok {
		f.TargetID = at
	}
}

// found sets a pointer to a member, or records that there is none.
func (h *reading) found(key string, p *target.Pointer, name string) {
	if name == "" {
		h.unseen = append(h.unseen, key)
		return
	}
	*p = probe.Pointer(name)
}

// ids finds the ids of a turn in a message.
func (h *reading) ids(msg map[string]any) {
	f := &h.wire.Fields
	for _, id := range []struct {
		key  string
		at   *target.Pointers
		into *string
	}{
		{"turn-id", &f.TurnID, &h.turn},
		{"trace-id", &f.TraceID, &h.trace},
	} {
		at, value := probe.FindText(msg, "", 3, probe.Names(f, id.at)...)
		if value == "" {
			h.unseen = append(h.unseen, id.key)
			continue
		}
		*id.into = value
		if !slices.Contains(*id.at, at) {
			*id.at = target.Pointers{at}
		}
	}
}

// accepted finds the message that tells the frontend of a turn, and learns from it; nil if there is none. The
// frontend receives nothing else before the agent has sent anything.
func (h *reading) accepted(published []map[string]any, route map[string]any) map[string]any {
	var found map[string]any
	for _, msg := range published {
		if reflect.DeepEqual(msg, route) || probe.Text(h.wire.Fields.Target, msg) == probe.Text(h.wire.Fields.Target, route) {
			continue
		}
		if found == nil || saysAccepted(msg) && !saysAccepted(found) {
			found = msg
		}
	}
	if found == nil {
		return nil
	}
	f := &h.wire.Fields
	bare := without(found, strings.TrimPrefix(string(f.Payload), "/"))
	if at, name := probe.FindText(bare, "", 2, probe.Names(f, &f.Subtype)...); name != "" {
		if !slices.Contains(f.Subtype, at) {
			f.Subtype = target.Pointers{at}
		}
		h.name(&h.wire.Subtypes, proto.TurnAccepted, name)
	} else {
		h.unseen = append(h.unseen, "subtype")
	}
	if event := probe.Text(f.Event, found); event != proto.Control {
		h.name(&h.wire.Events, proto.Event, event)
	}
	h.name(&h.wire.Targets, proto.ToFrontend, probe.Text(f.Target, found))
	s := &h.wire.Senders
	if own := probe.Text(f.Sender, found); !slices.Contains([]string{"", s.Frontend, s.Manager, s.Logger}, own) {
		s.Session = own
	}
	if at, ok := probe.Holding(without(found, strings.TrimPrefix(string(f.TargetID), "/")), h.agent, "", 3); !ok {
		h.unseen = append(h.unseen, "target-agent")
	} else if !slices.Contains(f.TargetAgent, at) {
		f.TargetAgent = target.Pointers{at}
	}
	return found
}

// saysAccepted reports whether a message contains the usual name of an accepted turn.
func saysAccepted(msg map[string]any) bool {
	return strings.Contains(probe.Plain(wjson.Compact(msg)), "turnaccepted")
}

// name records this wire's name for something, if it differs from the default binding's.
func (h *reading) name(names *map[string]target.Names, usual, name string) {
	if name == "" || slices.Contains((*names)[usual], name) || name == usual && (*names)[usual] == nil {
		return
	}
	if *names == nil {
		*names = map[string]target.Names{}
	}
	(*names)[usual] = target.Names{name}
}

// settle moves the fields that were not seen to where the payload and the metadata are, and writes them in the style
// of their siblings: turnId beside txId.
func (h *reading) settle(route, accepted map[string]any) {
	f, std := &h.wire.Fields, binding.Default().Fields
	inMeta, _ := f.Metadata.Get(route)
	inBody, _ := f.Payload.Get(accepted)
	camel := map[target.Pointer]bool{f.Metadata: camelled(inMeta), f.Payload: camelled(inBody)}
	move := func(p target.Pointer) target.Pointer {
		for usual, here := range map[target.Pointer]target.Pointer{std.Metadata: f.Metadata, std.Payload: f.Payload} {
			rest, within := strings.CutPrefix(string(p), string(usual)+"/")
			if !within {
				continue
			}
			if camel[here] {
				rest = camelCase(rest)
			}
			return here + "/" + target.Pointer(rest)
		}
		return p
	}
	now, usual := reflect.ValueOf(f).Elem(), reflect.ValueOf(std)
	for i := range now.NumField() {
		if !reflect.DeepEqual(now.Field(i).Interface(), usual.Field(i).Interface()) {
			continue
		}
		switch p := now.Field(i).Addr().Interface().(type) {
		case *target.Pointer:
			*p = move(*p)
		case *target.Pointers:
			var moved target.Pointers
			for _, at := range *p {
				moved = append(moved, move(at))
			}
			*p = moved
		}
	}
}

// camelled reports whether the members of an object are mostly written in camel case.
func camelled(v any) bool {
	obj, _ := v.(map[string]any)
	snake, camel := 0, 0
	for key := range obj {
		switch {
		case strings.Contains(key, "_"):
			snake++
		case strings.ToLower(key) != key:
			camel++
		}
	}
	return camel > snake
}

// camelCase converts turn_id to turnId.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
