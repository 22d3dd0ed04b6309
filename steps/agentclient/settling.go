package agentclient

import (
	"context"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentclient/model"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// pagesModel returns the model of the pages, which has taken all records so far.
func (s *suite) pagesModel() *model.Model {
	for _, r := range transcript.Judged(s.T.After(s.taken)) {
		s.model.Take(r)
		s.taken = r.N
	}
	return s.model
}

// reached says how far a page has come that has sent a request of a kind.
var reached = map[string]steps.Reach{model.StreamType: steps.Greeted, model.CreateType: steps.Answered,
	vocab.SwitchAgentType: steps.Answered}

// settled waits for what the user's latest act obliges the page to, of a kind of the model, and reports what the model
// has found by then. It returns the record that settles it. If none came the scenario ends, and, if a right one is
// needed, also if it was a wrong one.
func (s *suite) settled(ctx context.Context, kind string, needed bool) (transcript.Record, error) {
	p := s.now
	state, r := s.pagesModel().Fate(p.name, kind, p.act)
	if state == obligation.Unknown {
		return r, steps.NotTestedf("nothing that the user has done obliges the page to it")
	}
	var miss *verdict.Miss
	if state != obligation.Came {
		w := steps.Wait{Conn: p.server.party, After: p.act - 1, Greeting: true, Match: func(*transcript.Record) bool {
			state, r = s.pagesModel().Fate(p.name, kind, p.act)
			return state == obligation.Came
		}}
		if st := p.server.stream(); st != nil && kind == model.StreamEnd {
			w.Conn = st.Conn()
		}
		if _, miss = s.Await(ctx, w); miss != nil {
			s.T.Remark("", "%s", model.InVain(p.act, kind, strings.TrimPrefix(miss.Reason, "no such message ")))
			state, r = s.pagesModel().Fate(p.name, kind, p.act)
		}
	}
	last := s.T.Len()
	if state == obligation.Came { // what comes later is reported by the step that waits for it
		last = r.N
		s.RecordReach(reached[kind])
	}
	err := s.report(last, func(f verdict.Finding) error {
		switch {
		case state == obligation.Missing && f.At >= p.act:
			f.Miss = miss
			return s.Need(f)
		case state == obligation.Came && f.At == r.N && needed:
			return s.Need(f)
		case state == obligation.Came && f.At >= p.act:
			return s.Judge(f)
		}
		_ = s.Judge(f)
		return nil
	})
	if err == nil && state != obligation.Came {
		err = steps.NotTestedf("the page did not do what the scenario needs next: %s", miss.Reason)
	}
	return r, err
}

// report judges what the model has found of the page up to a record, and no step has reported, up to what ends the
// scenario: what follows may be its consequence. broken judges what does not hold.
func (s *suite) report(last int, broken func(verdict.Finding) error) (err error) {
	for _, f := range s.pagesModel().Fresh(s.now.name, last) {
		f.Judge = verdict.ByModel
		switch {
		case err != nil:
		case !f.OK:
			err = broken(f)
		case f.Expected == obligation.Absence:
			s.absent = f.Clauses
		default:
			err = s.Judge(f)
		}
	}
	return err
}

// noSwitch judges that the page requested no switch before a later request that the scenario has awaited. The browser
// records requests in order.
func (s *suite) noSwitch() error {
	err := s.report(s.T.Len(), func(f verdict.Finding) error { return s.Judge(f) })
	switch {
	case err != nil || s.Broken():
		return err
	case s.absent == nil:
		return steps.NotTestedf("fence: no later request of the page was seen, so absence cannot be proved")
	}
	return s.Judge(verdict.Finding{Clauses: s.absent, OK: true, Judge: verdict.ByModel})
}

// noOtherSwitch judges that the page requested no switch that the user has not chosen, once its server has received
// all that it made.
func (s *suite) noOtherSwitch(ctx context.Context) error {
	_, made := s.requests(vocab.SwitchAgentType, 0)
	all := func(*transcript.Record) bool {
		received, _ := s.requests(vocab.SwitchAgentType, 0)
		return len(received) >= len(made)
	}
	if !all(nil) {
		_, _ = s.Await(ctx, steps.Wait{Conn: s.now.server.party, After: s.T.Len(), Match: all})
	}
	return s.report(s.T.Len(), func(f verdict.Finding) error { return s.Judge(f) })
}
