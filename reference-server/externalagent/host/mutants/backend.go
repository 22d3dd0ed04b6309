package mutants

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// backendFaults reveal the cinema's private data.
var backendFaults = map[string]fault{
	"backend-data-in-snapshot":  inAttributesWhere(func(_ view, in part) bool { return in == host.InSnapshot }),
	"backend-data-in-updates":   inAttributesWhere(func(_ view, in part) bool { return in == host.InUpdate }),
	"backend-data-in-results":   resultingIn(func(v view, _ call, ui object) { inAttributes(v, ui) }),
	"backend-data-of-form":      showing(onForm),
	"backend-data-at-seats":     inAttributesWhere(func(v view, _ part) bool { return v.Shown() == proto.SeatStage }),
	"backend-data-in-tools":     showing(func(v view, _ part, s *state) { reveal(v, s.ToolSchema, "context") }),
	"backend-data-in-history":   showing(func(v view, _ part, s *state) { reveal(v, s.MessageHistory, "meta") }),
	"backend-data-beside-state": telling(besideState),
	"backend-data-null": showing(func(_ view, _ part, s *state) {
		each(itemsOf(s.UISpec), spoil.Set(proto.BackendData, nil))
	}),
	"backend-data-in-errors":        revealing(proto.ErrorMessage),
	"backend-data-in-ended":         revealing(proto.SessionEnded),
	"backend-data-in-started":       revealing(proto.SessionStarted),
	"backend-data-in-user-messages": revealing(proto.UserMessage),
}

// data returns the backend data of the current stage, wrapped in an object.
func data(v view) object { return object{proto.BackendData: wire.Plain(v.Backend(v.Stage()))} }

func itemsOf(ui any) []any {
	form, _ := ui.(object)
	items, _ := form["items"].([]any)
	return items
}

func each(all []any, f func(o object)) {
	for _, v := range all {
		f(v.(object))
	}
}

// reveal puts the data into a member of each object.
func reveal(v view, all []any, name string) { each(all, func(o object) { o[name] = data(v) }) }

// inAttributes puts the data deep into the items of a form.
func inAttributes(v view, ui any) {
	each(itemsOf(ui), func(item object) {
		attributes, _ := item["attributes"].(object)
		if attributes == nil {
			attributes = object{}
			item["attributes"] = attributes
		}
		attributes["source"] = []any{data(v)}
	})
}

func inAttributesWhere(which func(v view, in part) bool) fault {
	return showing(func(v view, in part, s *state) {
		if which(v, in) {
			inAttributes(v, s.UISpec)
		}
	})
}

func onForm(v view, _ part, s *state) {
	if ui, shown := s.UISpec.(object); shown {
		ui[proto.BackendData] = data(v)[proto.BackendData]
	}
}

// revealing puts the data into the payloads of a type.
func revealing(kind string) fault {
	return telling(rewriter(kind, func(v view, msg message) message {
		msg.Payload()["debug"] = data(v)
		return msg
	}))
}

// besideState puts the data next to the state.
func besideState(v view, msg message, send sender) {
	if msg.Type() == proto.StateUpdated || msg.Type() == proto.SnapshotState {
		msg.Payload()[proto.BackendData] = data(v)[proto.BackendData]
	}
	send(msg)
}
