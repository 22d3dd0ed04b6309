package steps

import (
	"cmp"
	"fmt"
	"slices"

	"parley/monitor"
	"parley/transcript"
	"parley/verdict"
)

// maxFollowing bounds what is kept under one failure: what follows shows how far a deviation reached, and no more than
// that.
const maxFollowing = 20

// deviation is where a model was wrong first. Behind its record the model knows nothing (RULINGS 9).
type deviation struct {
	model   string
	at      int
	failure *Failure
}

// following sorts the findings of one monitor in one transcript.
type following struct {
	w          *World
	m          monitor.Monitor
	deviations []deviation
	broken     map[string]*Failure // by clause: the first that breaks it
	kept       map[string]bool
	follows    map[string]*Failure // by clause: what the first finding that follows, follows from
}

// monitored reduces a monitor's findings to one judgement per clause: the first that breaks it, else that it was kept,
// else that all there was to say of it follows from a deviation.
func (w *World) monitored(m monitor.Monitor, records []transcript.Record) (out []verdict.Judgement,
	failures []Failure) {
	f := &following{w: w, m: m, broken: map[string]*Failure{}, kept: map[string]bool{}, follows: map[string]*Failure{}}
	f.stepsFound(records)
	found := slices.Clone(m.Check(transcript.Judged(records)))
	slices.SortStableFunc(found, func(a, b monitor.Finding) int { return a.At - b.At })
	for _, one := range found {
		f.take(one)
	}
	for _, id := range m.Clauses {
		j := verdict.Judgement{Clause: id, Outcome: verdict.Passed, Monitor: m.Name}
		switch broken, first := f.broken[id], f.follows[id]; {
		case broken != nil:
			j.Outcome, j.Reason = broken.Outcome, broken.Observed
			failures = append(failures, *broken)
		case f.kept[id]:
		case first != nil:
			j.Outcome, j.Reason = verdict.NotTested, fmt.Sprintf("what was found follows from %s: %s", first.Clause,
				first.Observed)
		default:
			continue
		}
		out = append(out, j)
	}
	return out, failures
}

// stepsFound takes the deviations that steps have found before.
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

// ended notes that a failure of a clause that binds has ended a model. A SHOULD that is broken leaves it as it is:
// otherwise a warning could hide a failure.
func (f *following) ended(model string, at int, by *Failure) {
	if model != "" && by.Outcome == verdict.Failed {
		f.deviations = append(f.deviations, deviation{model, at, by})
	}
}

// first is the deviation that a finding follows from; nil where it counts.
func (f *following) first(one monitor.Finding) *Failure {
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

func (f *following) take(one monitor.Finding) {
	from := f.first(one)
	ended := false
	for i, id := range one.Clauses {
		fail := &Failure{Finding: one, Clause: id, Outcome: verdict.ByLevel(f.w.Env.Ledger.Level(id), f.w.Env.Strict),
			Monitor: f.m.Name}
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
		if told := f.told(id, one); told != nil { // the scenario says so itself
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

// follow keeps what follows.
func (f *Failure) follow(one Failure) {
	if len(f.Following) == maxFollowing {
		f.MoreFollowing++
		return
	}
	f.Following = append(f.Following, one)
}

// told is the failure by which the scenario has said just what a monitor has found, or that counts what it said there;
// nil for none.
func (f *following) told(id string, one monitor.Finding) *Failure {
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
