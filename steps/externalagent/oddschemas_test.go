package externalagent

import (
	"testing"

	vocab "parley/protocol/externalagent"
)

// announcing changes the announced parameters of one tool.
func announcing(tool string, parameters any) bad {
	change := func(p object) {
		list, _ := p[vocab.ToolSchema].([]any)
		for _, item := range list {
			if nameOf(item) == tool {
				item.(object)["parameters"] = parameters
			}
		}
	}
	return all(edit(vocab.SnapshotState, change), edit(vocab.StateUpdated, change))
}

// TestOddSchemas checks that a host with types that JSON Schema does not know is still judged, and that a note says
// what of its schemas is ignored.
func TestOddSchemas(t *testing.T) {
	const (
		wrongly = session + `And agent A calls every announced tool with a param missing, and each call is refused` + "\n"
		fitting = session + "And agent A calls every announced tool at every stage of the booking\n"
		note    = `in the announced schema of select: /properties/itemId/type: "any" is not a type that JSON Schema knows`
	)
	for _, r := range []struct {
		reason, lines string
		parameters    any
		want, has     string
	}{
		{"an unknown type, and no value", wrongly, object{"itemId": object{"type": "any"}},
			"EA-081=passed EA-074=passed", note},
		{"an unknown type, and the booking", fitting, object{"itemId": object{"type": "any"}},
			"EA-080=passed EA-007=passed", note},
		{"the same within a schema", wrongly, object{"type": "object", "properties": object{"itemId": object{"type": "any"}},
			"required": []any{"itemId"}},
			"EA-081=passed", note},
		{"a list of params", wrongly, []any{object{"name": "itemId", "type": "string"}}, "EA-081=passed", ""},
		{"what is ignored settles nothing", fitting, object{"type": "object", "properties": object{"itemId": object{}},
			"required": "itemId"}, "EA-007=passed", "/required"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: announcing("select", r.parameters)}
			expect(t, perform(t, environment(t, vocab.Host, p), p, tagsOf(r.want), r.lines), r.want, r.has)
		})
	}
}
