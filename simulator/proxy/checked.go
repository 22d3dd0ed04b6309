package proxy

import (
	"time"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/transcript"
)

// Checked is what a round of judging says about single records, by their numbers in Options.Record. Later rounds repeat
// what they say about the records of connections that are still judged.
type Checked struct {
	Through int              // the records up to this one are judged, apart from those beyond what monitors see
	Held    map[int][]string // record → the clauses that it shows to be kept
	Broken  []Broken         // without secrets
}

// Broken is a failure with the number of its record; 0 if it has none.
type Broken struct {
	N    int
	Conn string // of a role whose connections are judged on their own
	Role string
	steps.Failure
}

// appendTo appends a record to a tape, and keeps its number in the proxy if something will be said about it. The caller
// holds p.mu.
func (p *Proxy) appendTo(one *tape, r transcript.Record, n int, when time.Time) {
	at := one.appendRecord(r, n, when)
	if at > 0 && (p.o.Checked != nil || one.owing != nil && at <= transcript.MaxRecords) {
		one.numbers = append(one.numbers, n)
	}
}

// judgeTape judges a tape, and adds to said what is said about its records.
func (p *Proxy) judgeTape(one *tape, said *Checked) (judged []verdict.Judgement, failures []steps.Failure, whole bool) {
	if p.o.Checked == nil {
		return one.judgeRecords(nil)
	}
	held := map[int][]string{}
	judged, failures, whole = one.judgeRecords(func(clause string, record int) {
		held[record] = append(held[record], clause)
	})
	p.mu.Lock()
	numbers := one.numbers // only appended to
	p.mu.Unlock()
	if said.Held == nil {
		said.Held = map[int][]string{}
	}
	for record, clauses := range held {
		if n := numberOf(numbers, record); n > 0 {
			said.Held[n] = append(said.Held[n], clauses...)
		}
	}
	redact := p.secrets.newRedactor()
	for _, f := range failures {
		f.Expected, f.Observed, f.Diff = redact.String(f.Expected), redact.String(f.Observed), ""
		said.Broken = append(said.Broken, Broken{numberOf(numbers, f.At), one.name, one.role.Name, f})
	}
	return judged, failures, whole
}

// reportChecked reports a round of judging. The caller holds p.judging.
func (p *Proxy) reportChecked(said *Checked) {
	if p.o.Checked != nil {
		p.o.Checked(*said)
	}
}
