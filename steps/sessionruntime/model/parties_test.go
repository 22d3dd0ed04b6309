package model_test

import (
	"strings"
	"testing"

	judge "parley/steps/sessionruntime/model"
)

// TestPartyMonitors: agents' messages in their turns are judged, but not messages that the bus hands back.
func TestPartyMonitors(t *testing.T) {
	const routed = "set a,b a\n" +
		`< USER_INPUT AGENT {"id":"o1","target_id":"a","turn_id":"t1"}` + "\n"
	const canceled = `< CONTROL/CANCEL AGENT {"id":"o2","target_id":"a","turn_id":"t1"}` + "\n"
	for name, row := range map[string]struct {
		lines        string
		kept, broken string
	}{
		"acknowledged": {routed + `> a CONTROL/INPUT_ACK {"id":"1","turn_id":"t1"}
			> a AGENT_OUTPUT {"id":"2","turn_id":"t1","final":true}`, "RT-144 RT-161", ""},
		"not acknowledged": {routed + `> a AGENT_OUTPUT {"id":"2","turn_id":"t1","final":true}`, "", "RT-144"},
		"not yet":          {routed + `> a AGENT_OUTPUT {"id":"2","turn_id":"t1","is_chunk":true}`, "", ""},
		"of another agent": {routed + `> b AGENT_OUTPUT {"id":"2","turn_id":"t1","final":true}`, "", ""},
		"ack without a turn": {routed + `> a CONTROL/INPUT_ACK {"id":"1"}
			> a AGENT_OUTPUT {"id":"2","turn_id":"t1","final":true}`, "", ""},
		"begins anew": {routed + `set a,b a
			> a AGENT_OUTPUT {"id":"2","turn_id":"t1","final":true}`, "", ""},
		"canceled": {routed + canceled + `> a AGENT_OUTPUT {"id":"2","turn_id":"t1","is_chunk":true}
			> a CONTROL/CANCEL_ACK {"id":"3","turn_id":"t1"}`, "RT-162", ""},
		"canceled, and goes on": {routed + canceled + `> a CONTROL/CANCEL_ACK {"id":"3","turn_id":"t1"}
			> a AGENT_OUTPUT {"id":"4","turn_id":"t1","is_chunk":true}`, "RT-162", "RT-162"},
		"nobody canceled": {routed + `> a CONTROL/CANCEL_ACK {"id":"3","turn_id":"t1"}
			> a AGENT_OUTPUT {"id":"4","turn_id":"t1","is_chunk":true}`, "", ""},
		"to the frontend": {`> a AGENT_OUTPUT {"id":"1","target":"FRONTEND"}`, "", "RT-037 RT-041"},
		"handed back": {`< AGENT_OUTPUT FRONTEND {"id":"1","sender":"a","from_party":"a"}
			> a AGENT_OUTPUT {"id":"1","target":"FRONTEND"}`, "", ""},
		"behind what cannot be read": {"junk\n" + `> a AGENT_OUTPUT {"id":"1","target":"FRONTEND"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			kept, broken := map[string]bool{}, map[string]bool{}
			records := script(t, row.lines)
			for _, m := range judge.PartyMonitors() {
				for _, f := range m.Check(records) {
					for _, id := range f.Clauses {
						if f.OK {
							kept[id] = true
						} else {
							broken[id] = true
						}
					}
				}
			}
			for id := range strings.FieldsSeq(row.kept) {
				if !kept[id] {
					t.Errorf("%s is not shown to hold", id)
				}
			}
			for id := range strings.FieldsSeq(row.broken) {
				if !broken[id] {
					t.Errorf("%s is not found broken", id)
				}
			}
			if n := len(strings.Fields(row.broken)); len(broken) != n {
				t.Errorf("broken: %v", broken)
			}
			if row.kept == "" && (kept["RT-144"] || kept["RT-161"] || kept["RT-162"]) {
				t.Errorf("kept: %v", kept)
			}
		})
	}
}
