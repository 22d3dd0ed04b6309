package steps

import (
	"testing"

	"parley/transport/transcript"
)

// TestSeenClose: a close is told with its code and its reason.
func TestSeenClose(t *testing.T) {
	for _, tt := range []struct {
		r    transcript.Record
		want string
	}{
		{transcript.Record{N: 7, Kind: transcript.Closed, Status: 1009, Label: `the target closed the connection: "too big"`},
			`the target closed the connection: "too big", close code 1009   +0.0 ms, record 7`},
		{transcript.Record{N: 7, Kind: transcript.Closed, Label: "the connection broke off: EOF"},
			"the connection broke off: EOF   +0.0 ms, record 7"},
	} {
		if got := Seen(tt.r); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
