package agentselect

import (
	"slices"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// judge is the model of a scenario's connections: what it finds, steps report.
type judge struct {
	*model.Model
	taken int // the last record that it has taken
}

// found returns what the model has found in the records of a client after a record, about some clauses.
func (s *suite) found(c *client, after int, clauses ...string) []verdict.Finding {
	found := s.model().On(c.name, after, clauses...)
	for i, f := range found {
		found[i].Judge = verdict.ByModel
		if r := s.Between(c.name, f.At-1, f.At+1); !f.OK && len(r) > 0 {
			found[i].Observed = steps.Seen(r[0])
		}
	}
	return found
}

// model returns the model, which has taken all records so far.
func (s *suite) model() *model.Model {
	if s.judge.Model == nil {
		s.judge.Model = model.New(obligation.Ours)
	}
	for _, r := range s.T.After(s.judge.taken) {
		s.judge.Take(r)
		s.judge.taken = r.N
	}
	return s.judge.Model
}

// report judges what the model has found since the last report, on all connections. It returns the error of the first
// finding that breaks a clause of the scenario.
func (s *suite) report() (err error) {
	for _, f := range s.model().Fresh() {
		f.Model, f.Judge = "", verdict.ByModel
		if c := s.actor; c != nil && f.At == c.act.mark {
			f.Miss = c.act.missed
		}
		if broken := s.Need(f); isBroken(broken) && err == nil {
			err = broken
		}
	}
	return err
}

// foundAt returns what the model has found of a client's record, about some clauses.
func (s *suite) foundAt(c *client, rec transcript.Record, clauses ...string) []verdict.Finding {
	return slices.DeleteFunc(s.found(c, rec.N-1, clauses...), func(f verdict.Finding) bool { return f.At != rec.N })
}

// isAsTold reports what the model finds of a client's record. If it breaks nothing, and is not what the step says, the
// source leaves that open: the step is not met, and no clause broken.
func (s *suite) isAsTold(c *client, rec transcript.Record, met bool, told string, clauses ...string) error {
	wrong := func(f verdict.Finding) bool { return !f.OK }
	if !met && !slices.ContainsFunc(s.foundAt(c, rec), wrong) {
		return steps.NotTestedf("expected %s, which no clause requires here; observed %s", told, steps.Seen(rec))
	}
	return s.Judge(s.foundAt(c, rec, clauses...)...)
}
