package agentselect

import (
	"parley/features/verdict"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/steps/obligation"
)

// judge is the model of a scenario's connections: what it finds, steps report.
type judge struct {
	*model.Model
	taken int // the last record that it has taken
}

// found returns what the model has found in the records of a client after a record, about some clauses.
func (s *suite) found(c *client, after int, clauses ...string) []verdict.Finding {
	if s.judge.Model == nil {
		s.judge.Model = model.New(obligation.Ours)
	}
	for _, r := range s.T.After(s.judge.taken) {
		s.judge.Take(r)
		s.judge.taken = r.N
	}
	found := s.judge.On(c.name, after, clauses...)
	for i, f := range found {
		if r := s.Between(c.name, f.At-1, f.At+1); !f.OK && len(r) > 0 {
			found[i].Observed = steps.Seen(r[0])
		}
	}
	return found
}
