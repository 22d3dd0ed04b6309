package agent

import (
	"crypto/sha256"
	"slices"
	"strings"

	proto "parley/protocol/externalagent"
)

// readState reads the state from a state.updated or a snapshot.state. A missing part is a problem: a state without
// uiSpec is not the same as one that shows nothing (EA-043 to EA-045, EA-057 to EA-059).
func readState(payload object) (s State, problem string) {
	spec, present := payload["uiSpec"]
	s.UISpec, _ = spec.(object)
	if !present || spec != nil && s.UISpec == nil {
		return State{}, "uiSpec is neither an object nor null"
	}
	tools, isArray := payload["toolSchema"].([]any)
	if !isArray {
		return State{}, "toolSchema is not an array"
	}
	s.History, _ = payload["messageHistory"].([]any) // optional: no decision depends on it
	s.Tools = readTools(tools)
	return s, ""
}

// readTools skips unnamed tools and repeated names.
func readTools(schema []any) []proto.Tool {
	tools := []proto.Tool{}
	for _, v := range schema {
		o, _ := v.(object)
		name, _ := o["name"].(string)
		if name == "" || slices.ContainsFunc(tools, func(t proto.Tool) bool { return t.Name == name }) {
			continue
		}
		description, _ := o["description"].(string)
		tools = append(tools, proto.Tool{Name: name, Description: description, Parameters: o["parameters"]})
	}
	return tools
}

// stageOf returns the stage of a state; "" if nothing is shown.
func stageOf(s State) string { return clip(readScreen(s.UISpec).stage, 80) }

// toolNames lists the tools of a state for the log.
func toolNames(s State) string {
	names := make([]string, 0, len(s.Tools))
	for _, t := range s.Tools {
		names = append(names, t.Name)
	}
	return clip(strings.Join(names, " "), 200)
}

// stateKey is equal for states that show and announce the same.
type stateKey [sha256.Size]byte

func keyOf(s State) stateKey {
	if s.key != (stateKey{}) {
		return s.key
	}
	return sha256.Sum256([]byte(canonical(s.UISpec) + canonical(s.Tools)))
}
