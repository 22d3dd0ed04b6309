package externalagent

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// starts asks for a study session. Its ids contain the scenario's nonce if the profile says so.
func (s *suite) starts(ctx context.Context, p *party) error {
	before := s.lies()
	start := s.wire.Start.For(s.Nonce)
	q, err := s.ask(ctx, p, vocab.SessionStart, object{"studyId": start.StudyID, "participantId": start.ParticipantID})
	q.laid = before
	return err
}

// isStarted reports on the answer to session.start.
func (s *suite) isStarted(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.SessionStart {
		return steps.NotTestedf("agent %s has started no session", p.name)
	}
	if p.reset != p.session && s.shared() {
		if rec, miss := s.answer(ctx, q); miss == nil && refused(&rec) {
			if err := s.endLeftOver(ctx, p); err != nil {
				return err
			}
		}
	}
	rec, err := s.needAnswer(ctx, p.last)
	if err != nil {
		return err
	}
	s.started(p, &rec)
	return nil
}

// endLeftOver ends a session left open in the only relay session, and starts another.
func (s *suite) endLeftOver(ctx context.Context, p *party) error {
	start := p.last
	if err := s.ends(ctx, p); err != nil {
		return err
	}
	rec, miss := s.answer(ctx, p.last)
	if miss != nil || refused(&rec) {
		p.last = start // it was refused for another reason
		return nil
	}
	s.Note("a session left open earlier was ended first")
	return s.starts(ctx, p)
}

var exampleID = regexp.MustCompile(`\As-\d{8}-\d{3}\z`)

func (s *suite) started(p *party, rec *transcript.Record) {
	s.RecordReach(steps.Answered)
	p.study, _ = payload(rec)[vocab.SessionID].(string)
	form := "another form than"
	if exampleID.MatchString(p.study) {
		form = "the form of"
	}
	s.Observe("EA-040", fmt.Sprintf("sessionId %s has %s s-YYYYMMDD-NNN",
		wjson.Compact(payload(rec)[vocab.SessionID]), form))
}

// hasSession makes sure that a party is in a study session.
func (s *suite) hasSession(ctx context.Context, p *party) error {
	if err := s.hasJoined(ctx, p); err != nil {
		return err
	}
	if p.study != "" && p.returned {
		if err := s.returnNoted(ctx, p); err != nil {
			return err
		}
	}
	if p.study != "" {
		return nil
	}
	return inTurn(ctx, p, s.starts, s.isStarted)
}

// survivalNoted is returnNoted as a step.
func (s *suite) survivalNoted(ctx context.Context, p *party) error {
	if p.study == "" {
		return steps.NotTestedf("agent %s has started no session", p.name)
	}
	return s.returnNoted(ctx, p)
}

// returnNoted records whether a session outlived the loss of its agent's connection, which the document leaves open
// (EA-G09).
func (s *suite) returnNoted(ctx context.Context, p *party) error {
	q, err := s.ask(ctx, p, vocab.SnapshotGet, object{})
	if err != nil {
		return err
	}
	rec, miss := s.answer(ctx, q)
	if miss == nil && refused(&rec) && s.codeOf(&rec) == vocab.SessionNotActive {
		s.Note("the session ended with the agent's connection")
		p.study, p.returned = "", false
		return nil
	}
	p.returned = false
	_, err = s.getsSnapshot(ctx, p)
	return err
}

// state is what the host shows and announces.
type state = model.State

func (s *suite) asksForSnapshot(ctx context.Context, p *party) error {
	_, err := s.ask(ctx, p, vocab.SnapshotGet, object{})
	return err
}

// snapshot asks for the state and waits for it.
func (s *suite) snapshot(ctx context.Context, p *party) (state, error) {
	if err := s.asksForSnapshot(ctx, p); err != nil {
		return state{}, err
	}
	return s.getsSnapshot(ctx, p)
}

// getsSnapshot reports on the answer to snapshot.get.
func (s *suite) getsSnapshot(ctx context.Context, p *party) (state, error) {
	q := p.last
	if q == nil || q.kind != vocab.SnapshotGet {
		return state{}, steps.NotTestedf("agent %s has asked for no snapshot", p.name)
	}
	rec, err := s.needAnswer(ctx, q)
	if err != nil {
		return state{}, err
	}
	return model.StateOf(&rec), nil
}

func (s *suite) ends(ctx context.Context, p *party) error {
	_, err := s.ask(ctx, p, vocab.SessionEnd, theEnd())
	return err
}

// theEnd returns the payload of session.end.
func theEnd() object { return object{"reason": "parley: the scenario is over"} }

// isEnded reports on the answer to session.end (EA-063 to EA-067).
func (s *suite) isEnded(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.SessionEnd {
		return steps.NotTestedf("agent %s has ended no session", p.name)
	}
	rec, err := s.needAnswer(ctx, q)
	if err != nil {
		return err
	}
	body := payload(&rec)
	if name, ok := body[vocab.LogFile].(string); ok {
		form := "another form than"
		if name == "logs/study/"+p.study+".jsonl" {
			form = "the form of"
		}
		s.Observe("EA-066", fmt.Sprintf("logFile %q has %s logs/study/{sessionId}.jsonl", name, form))
	}
	p.study, p.reset = "", p.session
	return nil
}

// endSessions ends the sessions left open in a shared relay session, so that the next scenario starts clean. It
// judges nothing.
func (s *suite) endSessions() {
	for _, p := range s.parties {
		if p.study == "" || p.conn == nil || s.endedAt(p) > 0 {
			continue
		}
		ctx, cancel := deadline.WithLimit(context.Background(), min(s.Env.Event(), 2*time.Second))
		if q, err := s.ask(ctx, p, vocab.SessionEnd, theEnd()); err == nil {
			_, _ = s.T.Await(ctx, q.mark, func(r *transcript.Record) bool {
				return r.Conn == p.name && (answers(q.id)(r) || closed(r))
			})
		}
		cancel()
		p.study = ""
	}
}
