package replay

import (
	"slices"

	"parley/transport/recording"
	"parley/transport/transcript"
)

// Bounds of what is read ahead.
const (
	maxAhead      = 64 // records
	maxAheadBytes = 4 << 20
)

// ahead reads a recording, and looks ahead.
type ahead struct {
	in    *recording.ClientView
	queue []transcript.Record
	size  int   // bytes of queue
	err   error // of reading ahead
}

// next returns the next record that was not taken.
func (a *ahead) next() (transcript.Record, error) {
	if len(a.queue) > 0 {
		r := a.queue[0]
		a.queue = a.queue[1:]
		a.size -= len(r.Bytes)
		return r, nil
	}
	if a.err != nil {
		return transcript.Record{}, a.err
	}
	return a.in.Next()
}

// take takes the first record ahead for which want holds; false if there is none within the bounds.
func (a *ahead) take(want func(transcript.Record) bool) (transcript.Record, bool) {
	for i := 0; ; i++ {
		if i == len(a.queue) && !a.more() {
			return transcript.Record{}, false
		}
		if r := a.queue[i]; want(r) {
			a.queue = slices.Delete(a.queue, i, i+1)
			a.size -= len(r.Bytes)
			return r, true
		}
	}
}

func (a *ahead) more() bool {
	if a.err != nil || len(a.queue) >= maxAhead || a.size >= maxAheadBytes {
		return false
	}
	r, err := a.in.Next()
	if err != nil {
		a.err = err
		return false
	}
	a.queue = append(a.queue, r)
	a.size += len(r.Bytes)
	return true
}
