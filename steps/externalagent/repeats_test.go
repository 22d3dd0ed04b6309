package externalagent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// TestRepeats checks that repeated members are omitted from a record's bytes, and that its event is still complete.
func TestRepeats(t *testing.T) {
	long := `[` + strings.TrimSuffix(strings.Repeat(`{"text":"ä long wörd","n":1.50},`, 500), ",") + `]`
	other := strings.Replace(long, "1.50", "2", 1)
	state := func(id int, ui, history, rest string) string {
		return fmt.Sprintf(`{"v":"mvp-0.2", "type":"state.updated","id":"%d","payload" : {"uiSpec":{"a":%s}, `+
			`"messageHistory": %s,"toolSchema":[]}%s}`, id, ui, history, rest)
	}
	for _, r := range []struct {
		reason string
		sent   []string // "" reopens the connection
		short  []bool
	}{
		{"the first is kept, and the others are short", []string{state(1, "1", long, ""), state(2, "2", long, ""),
			state(3, "3", long, "")}, []bool{false, true, true}},
		{"another state is kept", []string{state(1, "1", long, ""), state(2, "1", other, ""), state(3, "1", long, "")},
			[]bool{false, false, true}},
		{"what is within something else is not taken for it", []string{state(1, "1", long, ""),
			state(2, `{"x":`+long+`,"y":0}`, long, "")}, []bool{false, true}},
		{"a short message is kept", []string{state(1, "1", "[1]", ""), state(2, "1", "[1]", "")}, []bool{false, false}},
		{"faults are reported as they are", []string{state(1, "1", long, ""),
			state(2, "1", long, `,"payload":{"messageHistory":`+long+`}`), state(3, "1", long, ` x`)},
			[]bool{false, false, false}},
		{"another connection has its own", []string{state(1, "1", long, ""), "", state(2, "1", long, ""),
			state(3, "1", long, "")}, []bool{false, false, false, true}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			m := repeats{}
			for i, text := range r.sent {
				if text == "" {
					m.decode(&transcript.Record{N: i + 1, Conn: "A", Dir: transcript.Received, Kind: transcript.Open})
					continue
				}
				rec := transcript.Record{N: i + 1, Conn: "A", Dir: transcript.Received, Kind: transcript.Frame, Bytes: []byte(text)}
				whole := rec
				m.decode(&rec)
				decode(&whole)
				if diff := cmp.Diff(whole.Event, rec.Event); diff != "" {
					t.Errorf("event of message %d; want(-) got(+):\n%s", i, diff)
				}
				if short := len(rec.Bytes) < len(text); short != r.short[i] {
					t.Errorf("message %d of %d bytes has %d: short is %v, want %v", i, len(text), len(rec.Bytes), short, r.short[i])
				}
				if r.short[i] && (!strings.Contains(string(rec.Bytes), "bytes, as in record ") || rec.Label != vocab.StateUpdated) {
					t.Errorf("message %d is kept as %s", i, rec.Line(400))
				}
			}
		})
	}
}

// TestRepeatsOfWhatIsKept: nothing refers to a message that the transcript has left out, whose number the next one has.
func TestRepeatsOfWhatIsKept(t *testing.T) {
	text := `{"v":"mvp-0.2","type":"state.updated","payload":{"uiSpec":["` + strings.Repeat("x", longMessage) + `"]}}`
	m := repeats{}
	for i, r := range []struct {
		n     int
		short bool
	}{{1, false}, {1, false}, {2, true}} {
		rec := transcript.Record{N: r.n, Conn: "A", Dir: transcript.Received, Kind: transcript.Frame, Bytes: []byte(text)}
		if m.decode(&rec); len(rec.Bytes) < len(text) != r.short {
			t.Errorf("message %d is kept as %s", i, rec.Line(200))
		}
	}
}
