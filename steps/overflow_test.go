package steps

import (
	"strings"
	"sync"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/transport/transcript"
)

// TestWhatWasNotKept: if a target sends more than a transcript holds, it is unknown whether an awaited record came.
func TestWhatWasNotKept(t *testing.T) {
	for _, r := range []struct {
		reason   string
		overflow bool
		cut      bool
	}{
		{"without overflow it is missing", false, false},
		{"after overflow it may have come", true, true},
	} {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, false, "@AS-001")
			defer w.T.Release()
			if r.overflow {
				for w.T.Overflow() == 0 {
					w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Frame,
						Bytes: make([]byte, transcript.MaxPayload)})
				}
			}
			_, miss := w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Kind: "something", Within: time.Millisecond,
				Match: func(*transcript.Record) bool { return false }})
			if miss == nil || w.cut != r.cut || strings.Contains(miss.Reason, "more than a transcript holds") != r.cut {
				t.Errorf("cut is %v, want %v: %v", w.cut, r.cut, miss)
			}
			found, miss := w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Kind: "something",
				Match: func(*transcript.Record) bool { return true }, Within: time.Millisecond})
			if r.overflow && (miss != nil || found.N == 0) {
				t.Errorf("what was kept is not found: %v", miss)
			}
		})
	}
}

// TestAnActBeyondTheBounds: what came before an act is no answer to it, also if the transcript was full by then.
func TestAnActBeyondTheBounds(t *testing.T) {
	w := world(t, false, "@AS-001")
	defer w.T.Release()
	for w.T.Overflow() == 0 {
		w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Frame,
			Bytes: make([]byte, transcript.MaxPayload)})
	}
	act := w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Sent, Kind: transcript.Frame})
	found, miss := w.Await(t.Context(), Wait{Conn: "A", Kind: "something", After: act, Within: time.Millisecond,
		Match: func(r *transcript.Record) bool { return r.Dir == transcript.Received }})
	if miss == nil || !w.cut {
		t.Errorf("record %d, from before record %d, is the answer to it", found.N, act)
	}
}

// TestMissJudgedBeyondTheBounds: whatever waited for a message in its own way, that it did not come breaks no clause if
// the transcript was full by then.
func TestMissJudgedBeyondTheBounds(t *testing.T) {
	for _, full := range []bool{false, true} {
		w := world(t, false, "@AS-001")
		for full && w.T.Overflow() == 0 {
			w.T.Append(transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Frame,
				Bytes: make([]byte, transcript.MaxPayload)})
		}
		late := &verdict.Miss{Late: true, Reason: "no such message within 1s"}
		err := w.Need(late.Check("something", "AS-001"))
		told := strings.Contains(err.Error(), "than a transcript holds")
		if w.cut != full || (len(w.failures) == 0) != full || told != full {
			t.Errorf("full %v: cut %v, %v", full, w.cut, err)
		}
		w.T.Release()
	}
}

// TestSlowPieces: if pieces of an answer still arrive when the limit runs out, nothing is known to be missing.
func TestSlowPieces(t *testing.T) {
	for _, r := range []struct {
		reason string
		before int  // pieces that have come at once
		goesOn bool // more come until the wait is over
		slow   bool
	}{
		{"nothing comes", 0, false, false},
		{"all pieces come at once, and no end", 3, false, false},
		{"pieces keep coming", 0, true, true},
	} {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, false, "@AS-001")
			defer w.T.Release()
			piece := transcript.Record{Conn: "A", Dir: transcript.Received, Kind: transcript.Frame}
			for range r.before {
				w.T.Append(piece)
			}
			over := make(chan struct{})
			var sender sync.WaitGroup
			sender.Go(func() {
				for r.goesOn {
					select {
					case <-over:
						return
					case <-time.After(5 * time.Millisecond):
						w.T.Append(piece)
					}
				}
			})
			_, miss := w.Await(t.Context(), Wait{Conn: "A", Greeting: true, Kind: "something",
				Within: 400 * time.Millisecond,
				Match:  func(*transcript.Record) bool { return false }, Piece: func(*transcript.Record) bool { return true }})
			close(over)
			sender.Wait()
			if miss == nil || miss.NotOwed != r.slow || strings.Contains(miss.Reason, "raise limits.turn") != r.slow {
				t.Errorf("%+v, want slow %v", miss, r.slow)
			}
		})
	}
}
