package mutants

import (
	"cmp"

	proto "parley/protocol/sessionchat"
)

// optionFaults handle the options of a chat incorrectly.
var optionFaults = map[string]fault{
	"options-refused":       refusingOptions(func(object) bool { return true }),
	"options-refused-empty": refusingOptions(func(o object) bool { return len(o) == 0 }),
	"model-ignored":         choosing(false, func(string, string) (string, string) { return "", "" }),
	"model-of-first-option": choosing(false, byFirst),
	"model-of-last-option":  choosing(false, byLast),
	"model-one-chat-late":   choosing(true, oneLate),
}

func refusingOptions(which func(options object) bool) fault {
	return deciding(rules{Accept: refusing(proto.InvalidMessage, "options: not allowed here",
		func(_ manager, _ connInfo, msg message) bool {
			o, isObject := msg["options"].(object)
			return isObject && which(o)
		})})
}

// choosing makes a server that remembers model names. choose gets the name in the chat's options ("" if none) and the
// remembered one; it returns the model for this chat ("" for the default) and the name to remember.
func choosing(perSession bool, choose func(named, kept string) (now, keep string)) fault {
	return func(o *options) {
		kept := map[string]string{}
		o.Policy.Model = func(key string, options object, fallback string) string {
			if !perSession {
				key = ""
			}
			var now string
			now, kept[key] = choose(correct.Model(key, options, ""), kept[key])
			return cmp.Or(now, fallback)
		}
	}
}

// byFirst configures the server by the first options that it receives.
func byFirst(named, kept string) (string, string) { return cmp.Or(kept, named), cmp.Or(kept, named) }

// byLast configures the server by every options that it receives.
func byLast(named, kept string) (string, string) { return cmp.Or(named, kept), cmp.Or(named, kept) }

// oneLate applies the options only to the next chat.
func oneLate(named, kept string) (string, string) { return kept, named }
