package sessionchat

import (
	"slices"

	"parley/features/verdict"
	"parley/steps/obligation"
	"parley/steps/sessionchat/model"
)

// judge is the model of a scenario's sessions: what records show is judged by it alone.
type judge struct {
	*model.Model

	taken    int             // the last record that it has taken
	reported map[subject]int // findings that steps have reported
}

// subject is what a step reports of a session.
type subject struct {
	agent string
	what  model.Subject
}

// model returns the model of the scenario, which has taken every record so far.
func (s *suite) model() *model.Model {
	if s.judge.Model == nil {
		s.judge = judge{Model: model.New(obligation.Ours), reported: map[subject]int{}}
		s.judge.OwnModel = s.Env.Brain == nil
	}
	for _, r := range s.T.After(s.judge.taken) {
		s.judge.Take(r)
		s.judge.taken = r.N
	}
	return s.judge.Model
}

// found returns what the model has found on a subject in sessions since it was last asked for it.
func (s *suite) found(what model.Subject, list ...*session) (fresh []verdict.Finding) {
	m := s.model()
	for _, ss := range list {
		of := subject{ss.agentID, what}
		all := m.Of(ss.agentID, what)
		fresh = append(fresh, all[s.judge.reported[of]:]...)
		s.judge.reported[of] = len(all)
	}
	return fresh
}

func hasFailed(list []verdict.Finding) bool {
	return slices.ContainsFunc(list, func(f verdict.Finding) bool { return !f.OK })
}
