package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
)

const together = "A open\nA > relay.join #j {\"role\":\"agent\",\"sessionId\":\"r\"}\n" +
	"host open\nhost > relay.join #k {\"role\":\"host\",\"sessionId\":\"r\"}\n"

const aState, aWord = "state.updated {\"a\":1}\n", "user.message {}\n"

func TestPassing(t *testing.T) {
	const sent, got = "host > ", "A < "
	for _, r := range []struct{ reason, in, kept, broken, says string }{
		{reason: "nothing"},
		{"the same", sent + aState + sent + aWord + got + aState + got + aWord, "EA-055 EA-009 EA-060", "", ""},
		{"encoded differently", sent + aState + got + "state.updated {\"a\": 1.0}", "EA-055", "", ""},
		{"one is still due", sent + aState + sent + aWord + got + aState, "EA-055", "", ""},
		{"the first is lost", sent + aState + sent + aWord + got + aWord, "", "EA-055", "once, in order and unchanged"},
		{"one more", sent + aState + got + aState + got + aWord, "EA-055", "EA-009 EA-060",
			"nothing received by A except what host has sent"},
		{"changed", sent + aState + got + "state.updated {\"a\":2}", "", "EA-055", `{"a":2}`},
		{"twice", sent + aState + sent + aWord + got + aState + got + aState + got + aWord, "EA-055 EA-009 EA-060", "EA-055",
			"it has come twice"},
		{"twice, at the end", sent + aState + got + aState + got + aState, "EA-055", "EA-055", "it has come twice"},
		{"two that are the same", sent + aState + sent + aState + got + aState + got + aState, "EA-055", "", ""},
		{"under another id", "A > tool.call #a {}\nhost < tool.call #b {}", "EA-007", "", ""},
		{"without its id", "A > tool.call #a {}\nhost < tool.call {}", "", "EA-007", "unchanged"},
		{"with a replyTo of the relay's", sent + aWord + got + "user.message @a {}", "", "EA-009 EA-060", "unchanged"},
		{"in another order", sent + aState + sent + aWord + got + aWord + got + aState, "", "EA-055", "in order"},
		{"after the first deviation nothing is judged", sent + aState + got + aWord + got + aState, "", "EA-055", ""},
		{"of a type that no clause names", got + "relay.presence {}", "", "", ""},
		{"the agent has reconnected: what was under way is lost",
			sent + aState + "A closed\nA open\nA > relay.join #j {\"role\":\"agent\",\"sessionId\":\"r\"}\n" +
				sent + aWord + got + aWord, "EA-009 EA-060", "", ""},
		{"nobody is there", "A closed\n" + sent + aState, "", "", ""},
		{"a host of another relay session", "B open\nB > relay.join #l {\"role\":\"host\",\"sessionId\":\"s\"}\n" +
			"B > " + aState + sent + aWord + got + aWord, "EA-009 EA-060", "", ""},
		{"which of two hosts has sent it is not judged", "B open\nB > relay.join #l {\"role\":\"host\"," +
			"\"sessionId\":\"r\"}\nB > " + aState + got + aWord, "", "", ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			m := New(vocab.Relay, obligation.Ours)
			for _, rec := range script(t, together+r.in) {
				m.Take(rec)
			}
			found := m.Passed("A", "host")
			kept, broken := judged(found)
			if diff := cmp.Diff([]map[string]bool{set(r.kept), set(r.broken)}, []map[string]bool{kept, broken}); diff != "" {
				t.Errorf("kept, broken; want(-) got(+):\n%s", diff)
			}
			if !strings.Contains(fmt.Sprint(found), r.says) {
				t.Errorf("nothing says %q: %v", r.says, found)
			}
		})
	}
}
