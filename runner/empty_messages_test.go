package runner

import (
	"testing"

	"parley/transport/transcript"
)

// TestSeenInEmptyMessages: the part of a message at which a stream was cut off is not what the server sends.
func TestSeenInEmptyMessages(t *testing.T) {
	opened := transcript.Record{
		Dir: transcript.Received, Kind: transcript.Open, Label: "stream", Status: 200, Type: "text/event-stream",
	}
	empty := transcript.Record{Dir: transcript.Received, Kind: transcript.Stream}
	part := transcript.Record{
		Dir: transcript.Received, Kind: transcript.Comment, Label: "incomplete", Bytes: []byte("dat"),
	}
	const want = " opens, but nothing of p came; it sends empty messages"
	if got := seenIn([]transcript.Record{opened, empty, part}).describeInstead("p"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const alone = ` opens, but nothing of p came; it sends "dat"`
	if got := seenIn([]transcript.Record{opened, part}).describeInstead("p"); got != alone {
		t.Errorf("%q, want %q", got, alone)
	}
}
