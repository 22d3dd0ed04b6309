package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
)

const (
	underWay = "a1 open\na1 < relay.join #j {\"role\":\"agent\",\"sessionId\":\"r\"}\na1 > relay.joined @j {}\n" +
		"a1 < session.start #s {}\na1 > session.started @s {}\n"
	both = "a1 > state.updated {\"toolSchema\":[{\"name\":\"next\",\"parameters\":{}}," +
		"{\"name\":\"select\",\"parameters\":{\"id\":\"string\"}}]}\n"
	numbers  = "a1 > state.updated {\"toolSchema\":[{\"name\":\"select\",\"parameters\":{\"id\":\"integer\"}}]}\n"
	noTools  = "a1 > state.updated {\"toolSchema\":[]}\n"
	snapshot = "a1 > snapshot.state @g {\"toolSchema\":[{\"name\":\"next\",\"parameters\":{}}]}\n"
	goesOn   = "a1 < tool.call #n {\"toolName\":\"next\",\"params\":{}}\n"
	okAlone  = "a1 > tool.result @n {\"ok\":true,\"toolName\":\"next\"}\n"
	selects  = "a1 < tool.call #p {\"toolName\":\"select\",\"params\":{\"id\":\"m1\"}}\n"
	resyncs  = "a1 < snapshot.get #g {}\n"
	back     = "a1 closed\na2 open\na2 < relay.join #k {\"role\":\"agent\",\"sessionId\":\"r\"}\na2 > relay.joined @k {}\n"
)

// TestTold checks what the last record of a transcript shows of an agent that was told something unusual.
func TestTold(t *testing.T) {
	const state, none, stale = "EA-051 EA-054a EA-072 EA-077", "EA-096a EA-072", "EA-076 EA-077"
	for _, r := range []struct{ reason, in, clauses, kept, broken string }{
		{"a call by the last state", underWay + both + selects, state, state, ""},
		{"a call without a state", underWay + selects, state, "", state},
		{"a call of a tool that only an earlier state has", underWay + both + numbers + goesOn, state, "", state},
		{"params that only an earlier state allows", underWay + both + numbers + selects, state, "", state},
		{"params that no state allows", underWay + numbers + selects, state, state, ""},
		{"a call after an ok-only result", underWay + both + goesOn + okAlone + selects, state, "", state},
		{"a call after an ok-only result and its state",
			underWay + both + goesOn + okAlone + both + selects, state, state, ""},
		{"a call after the state came before its result",
			underWay + both + goesOn + both + okAlone + selects, state, state, ""},
		{"a call after a quick uiSpec",
			underWay + both + goesOn + "a1 > tool.result @n {\"ok\":true,\"uiSpec\":{}}\n" + selects, state, state, ""},
		{"a call after a refusal",
			underWay + both + goesOn + "a1 > error @n {\"code\":\"NO_ACTIVE_SPEC\"}\n" + selects, state,
			state, ""},
		{"a call while one is under way, as the participant speaks",
			underWay + both + goesOn + "a1 > user.message {}\n" + selects,
			state, "", state},
		{"a snapshot.get after an ok-only result",
			underWay + both + goesOn + okAlone + resyncs, stale, "EA-077", ""},
		{"a call after that",
			underWay + both + goesOn + okAlone + resyncs + snapshot + goesOn, "EA-077", "EA-077", ""},
		{"a snapshot.get as anything else", underWay + both + resyncs, stale, "", ""},

		{"a call while nothing is announced", underWay + both + noTools + "+ 1s\n" + goesOn, none, "", none},
		{"a session that ends meanwhile", underWay + both + noTools + "a1 < session.end #e {}\n", none, none, ""},
		{"a call after that of what is announced now",
			underWay + both + noTools + numbers + selects, "EA-096a", "EA-096a", ""},
		{"a call after that of what was announced before",
			underWay + both + noTools + numbers + "+ 1s\n" + goesOn, none, "", none},
		{"a call sent before it was known, as others are under way",
			underWay + both + goesOn + selects + noTools + goesOn, none, "EA-096a", "EA-072"}, // by the last state

		{"a snapshot.get after a reconnection",
			underWay + both + back + "a2 < snapshot.get #g {}\n", stale, stale, ""},
		{"a call after a reconnection",
			underWay + both + back + "a2 < tool.call #n {\"toolName\":\"next\",\"params\":{}}\n",
			"EA-076", "", "EA-076"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			m, all := New(vocab.Agent, obligation.Ours), script(t, r.in)
			for _, rec := range all {
				m.Take(rec)
			}
			var ids []string
			for id := range set(r.clauses) {
				ids = append(ids, id)
			}
			kept, broken := judged(m.At(len(all), ids...))
			if diff := cmp.Diff([]map[string]bool{set(r.kept), set(r.broken)}, []map[string]bool{kept, broken}); diff != "" {
				t.Errorf("kept, broken; want(-) got(+):\n%s", diff)
			}
		})
	}
}
