package mutants

import (
	"fmt"
	"regexp"
	"strings"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// idFaults misjudge agentId.
var idFaults = map[string]fault{
	"trims-ids":  cleaning(strings.TrimSpace),
	"folds-case": cleaning(strings.ToLower),
	"sanitises-ids": cleaning(
		func(id string) string { return regexp.MustCompile(`[^a-zA-Z0-9_-]`).ReplaceAllString(id, "") }),
	"cuts-at-nul":    cleaning(func(id string) string { id, _, _ = strings.Cut(id, "\x00"); return id }),
	"decodes-escape": cleaning(func(id string) string { return strings.ReplaceAll(id, "%67", "g") }),

	"unanchored-pattern":       pattern(`[a-z0-9_-]`),
	"pattern-without-end":      pattern(`^[a-z0-9_-]+`),
	"pattern-without-start":    pattern(`[a-z0-9_-]+$`),
	"dollar-before-newline":    pattern(`^[a-z0-9_-]+\n?$`),
	"multiline-pattern":        pattern(`(?m)^[a-z0-9_-]+$`),
	"case-insensitive-pattern": pattern(`(?i)^[a-z0-9_-]+$`),
	"unicode-lower-case":       pattern(`^[\p{Ll}0-9_-]+$`),
	"unicode-digits":           pattern(`^[a-z\p{Nd}_-]+$`),
	"dot-in-pattern":           pattern(`^[a-z0-9_.-]+$`),
	"range-in-pattern":         pattern(`^[a-z0-9+-_]+$`), // + to _ is a range with most punctuation and all capitals
	"blank-in-pattern":         pattern(`^[a-z0-9_ -]+$`),
	"no-hyphen-in-pattern":     pattern(`^[a-z0-9_]+$`),
	"no-digits-in-pattern":     pattern(`^[a-z_-]+$`),
	"no-underscore-in-pattern": pattern(`^[a-z0-9-]+$`),
	"identifier-pattern":       pattern(`^[a-z][a-z0-9_-]*$`),
	"limits-ids-to-16":         pattern(`^[a-z0-9_-]{1,16}$`),
	"limits-ids-to-64":         pattern(`^[a-z0-9_-]{1,64}$`),
	"two-characters-at-least":  pattern(`^[a-z0-9_-]{2,}$`),
	"existence-before-format":  checking(textOnly),
	"empty-is-malformed":       recoding("", proto.InvalidAgentIDFormat, proto.FormatIDText),
	"empty-is-unknown":         recoding("", proto.AgentNotFound, proto.NotFoundText("")),
	"malformed-is-invalid":     checking(malformedIsInvalid),
	"empty-means-default":      substituting(func(raw any) bool { return raw == nil || raw == "" }),
	"null-means-default":       substituting(func(raw any) bool { return raw == nil }),
	"falsy-means-default":      substituting(falsy),
	"stringifies-ids": misreading(
		proto.SwitchAgentType, func(msg message) { msg["agentId"] = javaScriptString(msg) }),
	"takes-the-only-element":    misreading(proto.SwitchAgentType, unwrapList),
	"takes-the-id-of-an-object": misreading(proto.SwitchAgentType, unwrapObject),
	"crash-text-on-null":        crashing(func(raw any) bool { return raw == nil }),
	"crash-text-on-number":      crashing(isNumber),
	"silent-on-number":          deafTo(isNumber),
	"crashes-on-number":         both(deafTo(isNumber), failingOn(isNumber)),
	"crashes-on-object":         both(deafTo(isObject), failingOn(isObject)),
}

// cleaning changes string ids before they are judged.
func cleaning(f func(id string) string) fault {
	return misreading(proto.SwitchAgentType, func(msg message) {
		if id, isString := msg["agentId"].(string); isString {
			msg["agentId"] = f(id)
		}
	})
}

func checking(f func(raw any) *refusal) fault { return deciding(rules{CheckID: f}) }

// pattern checks ids against another expression.
func pattern(expression string) fault {
	form := regexp.MustCompile(expression)
	return checking(func(raw any) *refusal {
		id, isString := raw.(string)
		switch {
		case !isString || id == "":
			return correct.CheckID(raw)
		case !form.MatchString(id):
			return &refusal{Code: proto.InvalidAgentIDFormat, Message: proto.FormatIDText}
		}
		return nil
	})
}

// textOnly accepts any string as an id.
func textOnly(raw any) *refusal {
	if id, isString := raw.(string); isString && id != "" {
		return nil
	}
	return correct.CheckID(raw)
}

// recoding refuses one id with another code and text.
func recoding(id, code, text string) fault {
	return checking(func(raw any) *refusal {
		if raw == id {
			return &refusal{Code: code, Message: text}
		}
		return correct.CheckID(raw)
	})
}

func malformedIsInvalid(raw any) *refusal {
	r := correct.CheckID(raw)
	if r != nil && r.Code == proto.InvalidAgentIDFormat {
		r.Code = proto.InvalidAgentID
	}
	return r
}

// substituting replaces some ids by the default agent, as `agentId || "general"` does.
func substituting(where func(raw any) bool) fault {
	return misreading(proto.SwitchAgentType, func(msg message) {
		if where(msg["agentId"]) {
			msg["agentId"] = proto.General
		}
	})
}

func falsy(raw any) bool {
	return raw == nil || raw == "" || raw == false || raw == agentselect.Number("0")
}

func isNumber(raw any) bool {
	switch raw.(type) {
	case agentselect.Number, float64: // from the wire, or from a peeked body
		return true
	}
	return false
}

func isObject(raw any) bool { _, is := raw.(map[string]any); return is }

// javaScriptString is String(msg.agentId).
func javaScriptString(msg message) string {
	raw, present := msg["agentId"]
	switch v := raw.(type) {
	case nil:
		if !present {
			return "undefined"
		}
		return "null"
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = javaScriptString(message{"agentId": part})
		}
		return strings.Join(parts, ",")
	case map[string]any:
		return "[object Object]"
	}
	return fmt.Sprint(raw)
}

func unwrapList(msg message) {
	if list, is := msg["agentId"].([]any); is && len(list) == 1 {
		msg["agentId"] = list[0]
	}
}

func unwrapObject(msg message) {
	if object, is := msg["agentId"].(map[string]any); is {
		msg["agentId"] = object["id"]
	}
}

// crashing answers some ids with the text of an exception, without a code.
func crashing(where func(raw any) bool) fault {
	const text = "Cannot read properties of undefined (reading 'trim')"
	return both(
		checking(func(raw any) *refusal {
			if where(raw) {
				return &refusal{Message: text}
			}
			return correct.CheckID(raw)
		}),
		rewriting(refuses(""), func(eventData) eventData { return eventData{"message": text} }),
	)
}

// deafTo ignores switches to some ids.
func deafTo(where func(raw any) bool) fault {
	return dropping(proto.SwitchAgentType, func(_ manager, _ connInfo, msg message) bool { return where(msg["agentId"]) })
}
