package sessionchat

import (
	"cmp"
	"fmt"

	proto "parley/protocol/sessionchat"
)

// accept requires one of the three types (SC-055), the fields of each type (SC-029 to SC-037), and, if present,
// options that are an object with a model that is a string. Other keys of options and other fields may have any value
// (SC-034).
//
// An empty agent_id or content counts as missing: the former names no session, the latter asks nothing.
func accept(_ Manager, _ ConnInfo, msg Message) *Refusal {
	kind, isString := msg["type"].(string)
	if !isString {
		return &Refusal{proto.InvalidMessage, `type must be a string: "chat", "interrupt" or "ping"`}
	}
	switch kind {
	case proto.ChatType:
		return cmp.Or(needString(msg, "agent_id"), needString(msg, "content"), checkOptions(msg))
	case proto.InterruptType:
		return needString(msg, "agent_id")
	case proto.PingType:
		return nil
	}
	return &Refusal{proto.UnknownType, fmt.Sprintf(`unknown type %.80q: send "chat", "interrupt" or "ping"`, kind)}
}

func needString(msg Message, field string) *Refusal {
	v, isString := msg[field].(string)
	switch {
	case isString && v != "":
		return nil
	case isString || msg[field] == nil:
		return &Refusal{proto.MissingField, fmt.Sprintf("%s needs %s: send a string that is not empty", msg["type"], field)}
	}
	return &Refusal{proto.InvalidMessage, fmt.Sprintf("%s must be a string, not %s", field, jsonKind(msg[field]))}
}

func checkOptions(msg Message) *Refusal {
	raw, present := msg["options"]
	if !present {
		return nil
	}
	options, isObject := raw.(map[string]any)
	if !isObject {
		text := fmt.Sprintf("options must be an object, not %s: leave it out or send {}", jsonKind(raw))
		return &Refusal{proto.InvalidMessage, text}
	}
	if name, present := options["model"]; present {
		if _, isString := name.(string); !isString {
			return &Refusal{proto.InvalidMessage, fmt.Sprintf("options.model must be a string, not %s", jsonKind(name))}
		}
	}
	return nil
}

// jsonKind names the JSON type of a decoded value.
func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}
