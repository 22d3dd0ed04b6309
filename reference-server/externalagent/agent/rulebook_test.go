package agent

import (
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	proto "parley/protocol/externalagent"
)

// rulebook checks the rules that an agent must follow in every situation. It is independent of the code under test.
type rulebook struct {
	ids    map[string]bool
	join   string // id of the relay.join on this connection
	joined bool
	synced bool           // a snapshot.state was received on this connection
	call   string         // id of the unanswered call on this connection
	tools  map[string]any // tools of the last authoritative state, with their JSON Schemas
	over   bool           // a session.end was sent on this connection
}

func (r *rulebook) connected() { *r = rulebook{ids: r.ids} }

func (r *rulebook) arrived(msg Message) {
	if problemOf(msg) != "" {
		return
	}
	switch msg.Type() {
	case proto.RelayJoined:
		r.joined = r.joined || msg["replyTo"] == r.join
	case proto.SnapshotState, proto.StateUpdated:
		tools, isArray := msg.Payload()["toolSchema"].([]any)
		if _, present := msg.Payload()["uiSpec"]; !present || !isArray {
			return
		}
		if msg.Type() == proto.SnapshotState { // also shows the effect of an unanswered call
			r.synced, r.call = true, ""
		}
		r.tools = map[string]any{}
		for _, t := range tools {
			tool := t.(object)
			r.tools[tool["name"].(string)] = asSchema(tool["parameters"])
		}
	case proto.ToolResult, proto.ErrorMessage:
		if msg["replyTo"] == r.call {
			r.call = ""
		}
	}
}

// asSchema handles the forms that these test hosts use.
func asSchema(parameters any) any {
	o, _ := parameters.(object)
	if o["type"] == "object" || o["$ref"] != nil {
		return o
	}
	properties, required := object{}, []any{}
	for name, p := range o {
		flat := p.(object)
		properties[name] = object{"type": flat["type"]}
		if flat["enum"] != nil {
			properties[name] = object{"enum": flat["enum"]}
		}
		if flat["optional"] != true {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

func (r *rulebook) sent(msg Message) (problem string) {
	if why := problemOf(msg); why != "" {
		return why
	}
	id, isText := msg["id"].(string)
	switch {
	case !isText || id == "":
		return "no id"
	case r.ids[id]:
		return "the id was used before"
	}
	r.ids[id] = true
	payload := msg.Payload()
	if msg.Type() == proto.RelayJoin {
		if r.join != "" || payload["role"] != "agent" || payload["sessionId"] != "default" {
			return "wrong relay.join"
		}
		r.join = id
		return ""
	}
	switch {
	case !r.joined:
		return "not joined"
	case r.over && msg.Type() != proto.SessionEnd:
		return "something follows session.end"
	}
	switch msg.Type() {
	case proto.SessionStart:
		if payload["studyId"] == nil || payload["participantId"] == nil {
			return "wrong session.start"
		}
	case proto.SnapshotGet:
		if len(payload) > 0 {
			return "payload is not {}"
		}
	case proto.AgentMessage:
		if text, _ := payload["text"].(string); text == "" {
			return "no text"
		}
	case proto.SessionEnd:
		r.over = true
		if reason, _ := payload["reason"].(string); reason == "" {
			return "no reason"
		}
	case proto.ToolCall:
		return r.called(id, payload)
	default:
		return "of a type that agents do not send"
	}
	return ""
}

func (r *rulebook) called(id string, payload object) string {
	name, _ := payload["toolName"].(string)
	reason, _ := payload["reason"].(string)
	schema, announced := r.tools[name]
	switch {
	case !r.synced:
		return "no snapshot.state on this connection"
	case r.call != "":
		return "an earlier call has no answer"
	case !announced:
		return "the tool is not announced"
	case len(reason) < 10:
		return "no reason"
	}
	r.call = id
	return violation(schema, payload["params"])
}

var known sync.Map // of compiled schemas

func violation(schema, params any) string {
	text := canonicalText(schema)
	compiled, found := known.Load(text)
	if !found {
		c := jsonschema.NewCompiler()
		if err := c.AddResource("a:b", schema); err != nil {
			return err.Error()
		}
		s, err := c.Compile("a:b")
		if err != nil {
			return err.Error()
		}
		known.Store(text, s)
		compiled = s
	}
	if err := compiled.(*jsonschema.Schema).Validate(params); err != nil {
		return err.Error()
	}
	return ""
}

func count(all []string, one string) int {
	return len(all) - len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one }))
}
