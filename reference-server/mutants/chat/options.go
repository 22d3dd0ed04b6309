package chat

import (
	proto "parley/protocol/sessionchat"
)

// optionFaults get the options of a chat wrong.
var optionFaults = map[string]fault{
	"options-refused":       deciding(refusingOptions(func(object) bool { return true })),
	"options-refused-empty": deciding(refusingOptions(func(o object) bool { return len(o) == 0 })),
	"model-ignored":         deciding(choosing(modelIgnored)),
	"model-of-first-option": deciding(choosing(modelOfFirstOption)),
	"model-of-last-option":  deciding(choosing(modelOfLastOption)),
	"model-one-chat-late":   deciding(choosing(modelOneLate)),
}

func refusingOptions(which func(options object) bool) func() rules {
	return func() rules {
		return rules{accept: func(m manager, c connInfo, msg message) *refusal {
			if o, isObject := msg["options"].(object); isObject && which(o) {
				return &refusal{Code: proto.InvalidMessage, Text: "options: not allowed here"}
			}
			return correct.Accept(m, c, msg)
		}}
	}
}

// chooser names the model of a chat; named is that of its options, "" if none.
type chooser func(key, named, fallback string) string

func choosing(make func() chooser) func() rules {
	return func() rules {
		choose := make()
		return rules{model: func(key string, options object, fallback string) string {
			return choose(key, correct.Model(key, options, ""), fallback)
		}}
	}
}

func modelIgnored() chooser { return func(_, _, fallback string) string { return fallback } }

// modelOfFirstOption configures the server by the first options that it sees.
func modelOfFirstOption() chooser {
	model := ""
	return func(_, named, fallback string) string {
		model = or(model, named)
		return or(model, fallback)
	}
}

// modelOfLastOption configures the server by each options that it sees.
func modelOfLastOption() chooser {
	model := ""
	return func(_, named, fallback string) string {
		model = or(named, model)
		return or(model, fallback)
	}
}

// modelOneLate configures a client that has been sent the message already.
func modelOneLate() chooser {
	next := map[string]string{}
	return func(key, named, fallback string) string {
		now := or(next[key], fallback)
		next[key] = named
		return now
	}
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
