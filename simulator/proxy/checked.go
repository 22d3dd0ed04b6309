package proxy

import (
	"slices"
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

// numbers are the numbers in the proxy of the records of a tape, as stretches in which both count up alike: a tape that
// has all records of a proxy has few. It is only appended to.
type numbers []stretch

// stretch begins with record at of the tape, which is record n of the proxy.
type stretch struct{ at, n int }

// append adds the number of the next record.
func (s numbers) append(at, n int) numbers {
	if last := len(s) - 1; last >= 0 && n-s[last].n == at-s[last].at {
		return s
	}
	return append(s, stretch{at, n})
}

// of returns the number in Options.Record of a record of the tape; 0 if it has none.
func (s numbers) of(record int) int {
	i, found := slices.BinarySearchFunc(s, record, func(one stretch, record int) int { return one.at - record })
	if !found {
		i--
	}
	if i < 0 || record < 1 {
		return 0
	}
	return s[i].n + record - s[i].at
}

// appendTo appends a record to a tape, and keeps its number in the proxy. The caller holds p.mu.
func (p *Proxy) appendTo(one *tape, r transcript.Record, n int, when time.Time) {
	if at := one.appendRecord(r, n, when); at > 0 {
		one.numbers = one.numbers.append(at, n)
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
		if n := numbers.of(record); n > 0 {
			said.Held[n] = append(said.Held[n], clauses...)
		}
	}
	redact := p.secrets.newRedactor()
	for _, f := range failures {
		f.Expected, f.Observed, f.Diff = redact.String(f.Expected), redact.String(f.Observed), ""
		said.Broken = append(said.Broken, Broken{numbers.of(f.At), one.name, one.role.Name, f})
	}
	return judged, failures, whole
}

// reportChecked reports a round of judging. The caller holds p.judging.
func (p *Proxy) reportChecked(said *Checked) {
	if p.o.Checked != nil {
		p.o.Checked(*said)
	}
}
