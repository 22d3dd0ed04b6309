package obligationtest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/transport/transcript"
)

// Script parses a transcript from lines such as
//
//	A open
//	A > what a client sends
//	A < what it receives
//	A junk
//	A closed 1008
//	A failed
//	- a remark
//	+ 45s
//
// where + lets time pass. frame completes the record of what is sent or received, which has its text as it stands
// there.
func Script(t testing.TB, lines string, frame func(r *transcript.Record)) (out []transcript.Record) {
	t.Helper()
	var now time.Duration
	for line := range strings.SplitSeq(lines, "\n") {
		words := append(strings.SplitN(strings.TrimLeft(line, " \t"), " ", 3), "")
		if words[0] == "" || len(words) < 3 {
			continue
		}
		r := transcript.Record{N: len(out) + 1, At: now, Conn: words[0], Dir: transcript.Received}
		switch {
		case words[0] == "+":
			d, err := time.ParseDuration(words[1])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			now += d
			continue
		case words[1] == "open":
			r.Kind = transcript.Open
		case words[1] == "closed":
			r.Kind = transcript.Closed
			r.Status, _ = strconv.Atoi(words[2])
		case words[1] == "failed":
			r.Kind = transcript.Failure
		case words[1] == "junk":
			r.Kind, r.Type, r.Bytes = transcript.Frame, "text", []byte("junk")
		case words[1] == "<", words[1] == ">":
			r.Kind, r.Type, r.Bytes = transcript.Frame, "text", []byte(words[2])
			if words[1] == ">" {
				r.Dir = transcript.Sent
			}
			frame(&r)
		default:
			r.Conn, r.Dir, r.Kind = "", transcript.Noted, transcript.Remark
			r.Label = strings.TrimSuffix(strings.Join(words[1:3], " "), " ")
		}
		out = append(out, r)
	}
	return out
}
