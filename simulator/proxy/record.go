package proxy

import (
	"strings"

	"parley/simulator/gate"
	"parley/transport/transcript"
)

// Beginnings of the labels of ends, by who has caused them.
const (
	byClient = "the client "
	byServer = "the server "
	byProxy  = "the proxy "
)

// EndedBy returns the last record of a connection as a user gets it: it says whether the client, the server or the
// proxy has ended the connection, and that of the client is sent. Gates, and so tapes, have the words of a harness at
// the client's end.
func EndedBy(r transcript.Record) transcript.Record {
	if r.Kind != transcript.Closed {
		return r
	}
	says := func(dir transcript.Dir, label string) transcript.Record {
		r.Dir, r.Label = dir, label
		return r
	}
	if rest, ok := strings.CutPrefix(r.Label, "the peer "); ok {
		return says(transcript.Sent, byClient+rest)
	}
	if rest, ok := strings.CutPrefix(r.Label, "the target "); ok {
		return says(r.Dir, byServer+rest)
	}
	if rest, ok := strings.CutPrefix(r.Label, "the connection broke off"); ok {
		return says(r.Dir, byServer+"broke the connection off"+rest)
	}
	switch r.Label {
	case "closed by the harness" + gate.ClientLeft:
		return says(transcript.Sent, byClient+"left the stream")
	case "closed by the harness", "cut off by the harness":
		return says(transcript.Sent, byProxy+"ended the connection")
	}
	return r
}
