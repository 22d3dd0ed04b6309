package externalagent

import (
	"strings"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// judge is the model of a scenario: what records show is judged by it alone.
type judge struct {
	*model.Model

	taken int // the last record that it has taken
}

// model returns the model of the scenario, which has taken every record so far.
func (s *suite) model() *model.Model {
	if s.judge.Model == nil {
		s.judge.Model = model.New(s.Env.Role, obligation.Ours)
		s.judge.Comparison = s.Comparison
	}
	for _, r := range s.T.After(s.judge.taken) {
		s.judge.Take(r)
		s.judge.taken = r.N
	}
	return s.judge.Model
}

// reports judges what the model has found of clauses in a record. The scenario continues in any case.
func (s *suite) reports(r *transcript.Record, clauses ...string) {
	for _, f := range s.found(r, clauses...) {
		_ = s.Judge(f)
	}
}

// needs is reports for clauses that the rest of the scenario depends on.
func (s *suite) needs(r *transcript.Record, clauses ...string) error {
	for _, f := range s.found(r, clauses...) {
		if err := s.Need(f); err != nil {
			return err
		}
	}
	return nil
}

// found returns what the model has found of clauses in a record.
func (s *suite) found(r *transcript.Record, clauses ...string) []verdict.Finding {
	list := s.model().At(r.N, clauses...)
	for i := range list {
		list[i] = s.quote(list[i])
		list[i].Group = kindOf(r) + " " + list[i].Clauses[0]
	}
	return list
}

// quote returns a finding of the model that quotes a record as steps do.
func (s *suite) quote(f verdict.Finding) verdict.Finding {
	if at := s.T.Page(f.At-1, 1); !f.OK && len(at) == 1 {
		f.Observed = strings.Replace(f.Observed, monitor.Describe(at[0]), steps.Seen(at[0]), 1)
	}
	f.Judge = verdict.ByModel
	return f
}

func isBroken(f verdict.Finding) bool { return !f.OK }
