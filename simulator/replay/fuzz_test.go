package replay

import (
	"strings"
	"testing"

	"parley/protocol/messages"
)

// FuzzCompare checks that nothing makes the comparison panic, that a message is the same as itself, and that a
// difference is shown on lines of bounded length without control characters.
func FuzzCompare(f *testing.F) {
	f.Add(`{"type":"a","x":[1,{"y":"b"}],"":{"/":"~"}}`, `{"type":"a","x":[1,{"y":"c"},2],"z":null}`)
	f.Add(`{"message_type":"stream","session_id":1,"message":{"text":"a"}}`, `{"message_type":"stream","session_id":"1"}`)
	f.Add("a conn_SOP34PLKMH", "a conn_XEQX4VZDXV")
	f.Add(`"«redacted»`, `{"a\u0000":"\u202e"}`)
	f.Add(`{"type":"\u001b[31m","\u001b":1}`, `{"type":"\u001b[31m","\u001b":2,"\u202e":3}`)
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	f.Add(deep, strings.Replace(deep, "1", "2", 1))
	set := messages.For("session-chat")
	f.Fuzz(func(t *testing.T, recorded, came string) {
		for _, r := range []rules{{}, {set: set, from: messages.Server}} {
			want, got := r.decodeRecord(frame(recorded)), r.decodeRecord(frame(came))
			p := &player{ids: newIDs(), side: &client{Caller: &Caller{}}, rules: r}
			p.o.Differs = func(d Difference) {
				for line := range strings.SplitSeq(d.Diff, "\n") {
					if strings.ContainsAny(line, "\x00\r\x1b\u202e") || len(line) > 10*maxShown {
						t.Errorf("%q", line)
					}
				}
			}
			p.comparePair(want, got)
			if p.result.Differences == 0 && want.kind != got.kind {
				t.Error("two kinds are the same")
			}
			again := comparison{ids: newIDs(), kind: want.name}
			if places := again.compareMessages(want, want); len(places) > 0 && !strings.Contains(recorded, "redacted") {
				t.Errorf("%s is not itself: %v", recorded, places)
			}
			p.ids.outgoingMessage(want)
			p.ids.renewPath(recorded)
		}
	})
}
