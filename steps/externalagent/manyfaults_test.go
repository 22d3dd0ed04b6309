package externalagent

import (
	"fmt"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// manyTools announces further tools with required params and accepts any call that the host refuses.
func manyTools(n int) bad {
	more := func(p object) {
		list, _ := p[vocab.ToolSchema].([]any)
		for i := range n {
			list = append(list, object{"name": fmt.Sprintf("extra_%02d", i), "description": "d", "parameters": object{
				"a": object{"type": "string"}, "b": object{"type": "integer"}, "c": object{"type": "boolean"}}})
		}
		p[vocab.ToolSchema] = list
	}
	return all(edit(vocab.SnapshotState, more), edit(vocab.StateUpdated, more), carriesOut)
}

// TestAFaultInEveryCall checks that for a host with a fault in each of many calls, the first failures of each kind
// are kept and the others counted.
func TestAFaultInEveryCall(t *testing.T) {
	for _, r := range []struct {
		reason, lines string
		bad           bad
		clause        string
		atLeast       int // of one kind
	}{
		{"it takes every wrong call", session +
			"Then agent A calls every announced tool with a param of another type, and each call is refused\n",
			manyTools(60), "EA-081", 3},
		{"it names another tool in every result", session +
			"And agent A calls every announced tool at every stage of the booking\n",
			all(manyTools(60), edit(vocab.ToolResult, func(p object) { p[vocab.ToolName] = "another" })), "EA-049", 2},
	} {
		t.Run(r.reason, func(t *testing.T) {
			p := &peer{bad: r.bad}
			got := perform(t, environment(t, vocab.Host, p), p, "@"+r.clause, r.lines)
			calls, kept, found, most := 0, 0, 0, 0
			for _, rec := range got.Records {
				if rec.Dir == transcript.Sent && kindOf(&rec) == vocab.ToolCall {
					calls++
				}
			}
			first := map[string]bool{}
			for _, f := range got.Failures {
				if f.Clause != r.clause {
					continue
				}
				kept, found, most = kept+1, found+max(f.Count, 1), max(most, f.Count)
				_, tool, _ := strings.Cut(f.Observed, `"toolName":"`)
				tool, _, _ = strings.Cut(tool, `"`)
				if r.clause == "EA-081" && first[tool] {
					t.Errorf("of %s more than the first is kept", tool)
				}
				first[tool] = true
			}
			if kept > 40 || found < 60 || most < r.atLeast {
				t.Errorf("%d calls: %d failures are kept, which count %d, at most %d of one kind; want at most 40, at least 60, "+
					"and %d",
					calls, kept, found, most, r.atLeast)
			}
			t.Logf("%d calls, %d failures kept, %d found, %d of one kind", calls, kept, found, most)
		})
	}
}
