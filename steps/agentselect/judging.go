package agentselect

import (
	"cmp"
	"errors"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/model"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// judge is the model of a scenario's connections: what it finds, steps report.
type judge struct {
	*model.Model
	taken int // the last record that it has taken
	told  int // findings that were reported
	mixed int // mixtures of sessions that were reported
}

// model returns the model, which has taken all records up to one.
func (s *suite) model(last int) *model.Model {
	if s.judge.Model == nil {
		s.judge.Model = model.New(obligation.Ours)
		s.judge.Known = model.Known{Default: s.Env.Profile.Agents.Default, Strict: s.Env.Strict,
			Single:  binding.Of(s.Env.Profile).Correlation.Single,
			Shared:  func() bool { _, known := s.Env.Learnt.Load(shared{}); return known },
			Alone:   s.shownAlone,
			Answers: binding.Of(s.Env.Profile).Fields.Answer,
			Apart:   func(one, other string) bool { return s.Routed(one, other) != "" }}
		if a, err := s.custom(); err == nil {
			s.judge.Custom = []vocab.AgentInfo{{ID: a.ID, Name: a.Name, Description: a.Description}}
		}
	}
	for _, r := range s.T.After(s.judge.taken) {
		if r.N > last {
			break
		}
		s.judge.Take(r)
		s.judge.taken = r.N
	}
	s.findsSharing()
	return s.judge.Model
}

// report judges what the model has found since the last report, on all connections, up to a record: what comes later is
// reported by the step that waits for it. miss says why something awaited did not come; nil: it has come. The error is
// that of the first finding that breaks a clause of the scenario.
func (s *suite) report(last int, miss *verdict.Miss) (err error) {
	fresh := s.model(last).Fresh(s.judge.told)
	s.judge.told += len(fresh)
	for _, f := range fresh {
		f.Model, f.Judge = "", verdict.ByModel
		if f.Miss != nil && miss != nil {
			f.Miss = miss
		} else if !f.OK {
			if at := s.T.Page(f.At-1, 1); len(at) > 0 && at[0].Dir == transcript.Received {
				f.Observed = steps.Seen(at[0])
			}
		}
		if broken := s.Need(f); isBroken(broken) && err == nil {
			err = broken
		}
	}
	return err
}

// waited tells the model how a wait on a client's connection has ended, and reports what it has found up to the record
// that came. If what was awaited did not come, the scenario ends; if that is so because the target has rightly ended
// the connection, nothing is found.
func (s *suite) waited(c *client, what string, came transcript.Record, miss *verdict.Miss) error {
	if miss != nil {
		if gone := s.endedFor(c); gone != nil {
			return gone
		}
		if !miss.NotOwed {
			s.T.Remark(c.name, "%s", model.InVain(what, miss.Reason))
		}
		came.N = s.T.Len()
	}
	err := s.report(came.N, miss)
	if miss == nil {
		return nil
	}
	return cmp.Or(err, steps.NotTestedf("client %s did not receive %s: %s", c.name, what, miss.Reason))
}

// isAsTold reports what the model finds of a record. If it breaks nothing, and is not what the step says, the
// source leaves that open: the step is not met, and no clause broken.
func (s *suite) isAsTold(rec transcript.Record, met bool, told string) error {
	if !met && !s.isWrong(rec) {
		return steps.NotTestedf("expected %s, which no clause requires here; observed %s", told, steps.Seen(rec))
	}
	_ = s.report(rec.N, nil)
	return nil
}

// isWrong reports whether the model finds that a record breaks a binding clause.
func (s *suite) isWrong(rec transcript.Record) bool {
	return slices.ContainsFunc(s.model(rec.N).Fresh(0), func(f verdict.Finding) bool {
		return !f.OK && f.At == rec.N && slices.ContainsFunc(f.Clauses, func(id string) bool {
			return verdict.ByLevel(s.Env.Ledger.Level(id), s.Env.Strict) != verdict.NotApplicable
		})
	})
}

// leaves reports, of what the model has found up to a record, only what breaks some clauses: other scenarios report the
// rest, or these explain it.
func (s *suite) leaves(last int, but ...string) {
	for _, f := range s.model(last).Fresh(s.judge.told) {
		s.judge.told++
		f.Clauses = slices.DeleteFunc(slices.Clone(but), func(id string) bool { return !contains(f.Clauses, id) })
		f.Model, f.Judge = "", verdict.ByModel
		_ = s.Judge(f)
	}
}

func isBroken(err error) bool {
	_, broken := errors.AsType[*steps.BrokenError](err)
	return broken
}
