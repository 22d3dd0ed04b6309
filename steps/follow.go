package steps

import (
	"cmp"
	"fmt"
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// maxFollowing bounds the findings kept under one failure; they only show how far a deviation reaches.
const maxFollowing = 20

// deviation is where a model was first proved wrong. After that record, the model knows nothing (RULINGS 9).
type deviation struct {
	model   string
	at      int
	failure *Failure
}

// following sorts the findings of one monitor on one transcript.
type following struct {
	w          *World
	m          monitor.Monitor
	deviations []deviation
	broken     map[string]*Failure // by clause: the first failure
	kept       map[string]bool
	follows    map[string]*Failure // by clause: the deviation that its first following finding follows from
}

// monitored reduces a monitor's findings to one judgement per clause: the first failure; else passed, if a finding
// shows that the clause was kept and no record was lost; else not tested, if every finding follows from a deviation.
func (w *World) monitored(m monitor.Monitor, records []transcript.Record) (out []verdict.Judgement,
	failures []Failure) {
	f := &following{w: w, m: m, broken: map[string]*Failure{}, kept: map[string]bool{}, follows: map[string]*Failure{}}
	f.stepsFound(records)
	found := slices.Concat(m.Check(transcript.Judged(records)), w.causesOf(m.Name))
	slices.SortStableFunc(found, func(a, b verdict.Finding) int { return a.At - b.At })
	for _, one := range found {
		f.take(one)
	}
	f.explain()
	for _, id := range m.Clauses {
		j := verdict.Judgement{Clause: id, Outcome: verdict.Passed, Monitor: m.Name}
		switch broken, first := f.broken[id], f.follows[id]; {
		case broken != nil:
			j.Outcome, j.Reason = broken.Outcome, broken.Observed
			failures = append(failures, *broken)
		case f.kept[id] && w.T != nil && w.T.Overflow() > 0: // nil: judged passively, which says itself what was lost
			j.Outcome, j.Reason, j.Unfinished = verdict.NotTested, moreThanHeld, true
		case f.kept[id]:
		case first != nil:
			j.Outcome, j.Reason = verdict.NotTested, fmt.Sprintf("the findings follow from %s: %s", first.Clause,
				first.Observed)
		default:
			continue
		}
		out = append(out, j)
	}
	return out, failures
}

// stepsFound adds the deviations that steps have found.
func (f *following) stepsFound(records []transcript.Record) {
	for i := range f.w.failures {
		one := &f.w.failures[i]
		for _, seen := range one.sightings() {
			model, at := seen.Model, cmp.Or(seen.At, seen.since)
			if model == "" && seen.At > 0 && seen.At <= len(records) && f.m.Of != nil {
				model = f.m.Of(records[seen.At-1])
			}
			f.ended(model, at, one)
		}
	}
}

// ended records that a failure has ended a model. Only failures of binding clauses do so: a broken SHOULD must not
// let a warning hide a failure.
func (f *following) ended(model string, at int, by *Failure) {
	if model != "" && by.Outcome == verdict.Failed {
		f.deviations = append(f.deviations, deviation{model, at, by})
	}
}

// first returns the failure that a finding follows from; nil if the finding counts by itself.
func (f *following) first(one verdict.Finding) *Failure {
	var first *deviation
	for i, d := range f.deviations {
		behind := d.at < one.At || d.at == one.At && one.Follows
		if behind && monitor.Covers(d.model, one.Model) && (first == nil || d.at < first.at) {
			first = &f.deviations[i]
		}
	}
	if first == nil {
		return nil
	}
	return first.failure
}

func (f *following) take(one verdict.Finding) {
	from := f.first(one)
	ended := false
	for i, id := range one.Clauses {
		fail := &Failure{Finding: one, Clause: id, Outcome: verdict.ByLevel(f.w.Env.Ledger.Level(id), f.w.Env.Strict),
			Monitor: f.m.Name, Missing: one.Miss != nil && f.w.missing(one), gone: f.w.BrokenOff(one.Miss)}
		switch {
		case from != nil:
			if f.follows[id] == nil {
				f.follows[id] = from
			}
			if !one.OK && i == 0 {
				from.follow(*fail)
			}
			continue
		case one.OK:
			f.kept[id] = true
			continue
		}
		if told := f.told(id, one); told != nil { // the scenario reports it already
			fail = told
		} else if f.broken[id] == nil && slices.Contains(f.m.Clauses, id) {
			f.broken[id] = fail
		} else {
			fail = f.broken[id]
		}
		if fail != nil && fail.Outcome == verdict.Failed && !ended {
			f.ended(one.Model, one.At, fail)
			ended = true
		}
	}
}

// follow adds a finding that follows from f.
func (f *Failure) follow(one Failure) {
	if len(f.Following) == maxFollowing {
		f.MoreFollowing++
		return
	}
	f.Following = append(f.Following, one)
}

// told returns the scenario's own failure that reports what a monitor has found, or that counts a failure which does;
// nil if there is none.
func (f *following) told(id string, one verdict.Finding) *Failure {
	i := slices.IndexFunc(f.w.failures, func(told Failure) bool {
		if told.Clause != id {
			return false
		}
		return told.At == one.At && told.Expected == one.Expected && told.Observed == one.Observed ||
			one.At > 0 && slices.ContainsFunc(told.others, func(other *Failure) bool { return other.At == one.At })
	})
	if i < 0 {
		return nil
	}
	return &f.w.failures[i]
}
