package monitor

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/transport/transcript"
)

func TestDescribe(t *testing.T) {
	rows := []struct {
		reason string
		in     transcript.Record
		want   string
	}{
		{"an event is described by its type and bytes", transcript.Record{N: 7, Event: &transcript.Event{Type: "agent_list"},
			Bytes: []byte(`{"a":1}`)}, `agent_list {"a":1}`},
		{"a long one is cut", transcript.Record{Event: &transcript.Event{Type: "x"}, Bytes: []byte(strings.Repeat("y", 301))},
			"x " + strings.Repeat("y", 300) + "…"},
		{"the cut is between characters", transcript.Record{Event: &transcript.Event{Type: "x"},
			Bytes: []byte(strings.Repeat("y", 299) + "主代理")}, "x " + strings.Repeat("y", 299) + "…"},
		{"a record without an event is described by its line, without number and time",
			transcript.Record{N: 7, At: 9, Conn: "A", Dir: transcript.Received, Kind: transcript.Closed, Label: "gone"},
			"   0     0.000 ms  A   <- closed gone"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			got := Describe(r.in)
			if got != r.want {
				t.Errorf("Describe is %q, want %q", got, r.want)
			}
			if !utf8.ValidString(got) {
				t.Error("it is no UTF-8")
			}
		})
	}
}
