package hosts

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

// backendFaults tell what the house keeps to itself.
var backendFaults = map[string]fault{
	"backend-data-in-snapshot":      leaking(func(in host.Part, v view, s *state) { deep(in == host.InSnapshot, v, s) }),
	"backend-data-in-updates":       leaking(func(in host.Part, v view, s *state) { deep(in == host.InUpdate, v, s) }),
	"backend-data-in-results":       ruling(rules{result: leakingResult}),
	"backend-data-of-form":          leaking(func(_ host.Part, v view, s *state) { onForm(v, s) }),
	"backend-data-at-seats":         leaking(func(_ host.Part, v view, s *state) { deep(v.Shown() == proto.SeatStage, v, s) }),
	"backend-data-in-tools":         leaking(func(_ host.Part, v view, s *state) { inTools(v, s) }),
	"backend-data-in-history":       leaking(func(_ host.Part, v view, s *state) { inHistory(v, s) }),
	"backend-data-beside-state":     telling(besideState),
	"backend-data-null":             leaking(func(_ host.Part, _ view, s *state) { onItems(s, func(item object) { item[proto.BackendData] = nil }) }),
	"backend-data-in-errors":        telling(func() host.Outbound { return beside(proto.ErrorMessage) }),
	"backend-data-in-ended":         telling(func() host.Outbound { return beside(proto.SessionEnded) }),
	"backend-data-in-started":       telling(func() host.Outbound { return beside(proto.SessionStarted) }),
	"backend-data-in-user-messages": telling(func() host.Outbound { return beside(proto.UserMessage) }),
}

func leaking(f func(in host.Part, v view, s *state)) fault {
	return ruling(rules{state: func(v view, in host.Part) state {
		s := v.State()
		f(in, v, &s)
		return s
	}})
}

func onItems(s *state, f func(item object)) {
	ui, _ := s.UISpec.(object)
	items, _ := ui["items"].([]any)
	for _, item := range items {
		f(item.(object))
	}
}

// house is what the house knows at the stage that is shown.
func house(v view) any { return plain(v.Backend(v.Stage())) }

// plain is a value as a decoder makes it, so that it can be written.
func plain(o object) any { return read(encode(o)) }

// deep puts the data of the house into the attributes of the last item.
func deep(here bool, v view, s *state) {
	if !here {
		return
	}
	onItems(s, func(item object) {
		attributes, _ := item["attributes"].(object)
		if attributes == nil {
			attributes = object{}
			item["attributes"] = attributes
		}
		attributes["source"] = []any{object{proto.BackendData: house(v)}}
	})
}

func onForm(v view, s *state) {
	if ui, shown := s.UISpec.(object); shown {
		ui[proto.BackendData] = house(v)
	}
}

func inTools(v view, s *state) {
	for _, t := range s.ToolSchema {
		t.(object)["context"] = object{proto.BackendData: house(v)}
	}
}

func inHistory(v view, s *state) {
	for _, e := range s.MessageHistory {
		e.(object)["meta"] = object{proto.BackendData: house(v)}
	}
}

func leakingResult(v view, c call) object {
	payload := correct.Result(v, c)
	if ui, has := payload["uiSpec"].(object); has {
		s := state{UISpec: ui}
		deep(true, v, &s)
	}
	return payload
}

// beside puts the data of the house into the payloads of a type.
func beside(kind string) host.Outbound {
	return func(v view, msg message, send sender) {
		if msg.Type() == kind {
			msg.Payload()["debug"] = object{proto.BackendData: house(v)}
		}
		send(msg)
	}
}

// besideState puts the data of the house next to the state.
func besideState() host.Outbound {
	return func(v view, msg message, send sender) {
		if msg.Type() == proto.StateUpdated || msg.Type() == proto.SnapshotState {
			msg.Payload()[proto.BackendData] = house(v)
		}
		send(msg)
	}
}
