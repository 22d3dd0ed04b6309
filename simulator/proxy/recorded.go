package proxy

import (
	"errors"
	"fmt"
	"io"
	"time"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// recordedRound is the number of records after which those of a recording are judged for Options.Checked.
const recordedRound = 5000

// JudgeRecording judges the records of a recording as if they had passed. next returns them as a recording.ClientView
// does; their numbers and times are kept. began is when the times begin to count. Options that concern addresses and
// messages on their way are ignored. The error is that of an option or of next, or says why records were lost; what
// came before it is judged. All is judged by the goroutine that calls it, so that the same recording is always judged
// alike.
func JudgeRecording(o Options, began time.Time, next func() (transcript.Record, error)) error {
	o.Handle = nil
	p, err := newProxy(o, began)
	if err != nil {
		return err
	}
	askers := map[int]string{}
	for count := 1; ; count++ {
		r, err := next()
		if errors.Is(err, io.EOF) {
			return p.Close()
		}
		if err != nil {
			return errors.Join(err, p.Close())
		}
		n := r.N
		r.N, r.Conn = 0, p.nameAsker(r, askers)
		p.putOnTapes(waitingRecord{r, n, began.Add(r.At)})
		switch {
		case o.Checked != nil && count%recordedRound == 0:
			p.judgeRecords()
		case len(p.tapes) > maxTapes:
			p.releaseEnded()
		}
	}
}

// releaseEnded judges and releases the tapes of connections that have ended.
func (p *Proxy) releaseEnded() {
	p.judging.Lock()
	defer p.judging.Unlock()
	said := &Checked{}
	p.judgeEnded(said)
	p.reportChecked(said)
}

// nameAsker names the party of a request that the recording does not tell, and of its answer, as partyOfRequest does.
// askers has the names of unanswered requests by the numbers of their records.
func (p *Proxy) nameAsker(r transcript.Record, askers map[int]string) string {
	switch {
	case r.Conn != "" || p.correlate == nil:
	case r.Kind == transcript.Request:
		if len(askers) >= maxAsked {
			clear(askers)
			clear(p.asked)
		}
		p.asks++
		name := fmt.Sprintf("#%d", p.asks)
		askers[r.N], p.asked[name] = name, asked{}
		return name
	case r.Reply > 0:
		name := askers[r.Reply]
		if !driver.AnswerGoesOn(r) {
			delete(askers, r.Reply)
		}
		return name
	}
	return r.Conn
}

// duration is how long a tape has lasted; for that of a recording, until its last record.
func (p *Proxy) duration(one *tape) time.Duration {
	if !p.recorded {
		return time.Since(one.t.Began())
	}
	for _, r := range one.t.Page(one.t.Len()-1, 1) {
		return r.At
	}
	return 0
}
