// Package simulator holds live sessions: a person, a script or a test plays any party of a protocol, in the steps of
// the features, and sees at once what each message is worth. A session never judges otherwise than a run: the same
// step, the same monitors, the same judgement.
//
//	s, err := simulator.Open(ctx, runner.Options{Protocols: protocols.All, Profile: profile})
//	a := s.Party("client A")
//	a.Do(ctx, `is connected`)
//	judged, err := a.Do(ctx, `switches to "debugger"`)
//
// The doors to a session, such as the terminal, know this package and no protocol.
package simulator

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"parley/runner"
	"parley/steps"
	"parley/transcript"
	"parley/verdict"
)

// Session is one live session with a target. Safe for concurrent use; steps wait for each other.
type Session struct {
	live   *runner.Live
	ledger *verdict.Ledger

	mu    sync.Mutex
	done  []Did
	told  map[finding]bool // what monitors have said and Follow has passed on
	worst map[string]verdict.Outcome
}

// Did is a step that was carried out, with what came of it.
type Did struct {
	Text   string
	Arg    steps.StepArg
	Judged steps.Judged
	From   int // the number of the last record before it
}

// finding tells one finding of a monitor from another.
type finding struct {
	monitor, clause string
	at              int
}

// Open launches the target of o, or reaches it, and begins a session with it: see runner.OpenLive for the options that
// count, and for the errors. The session lasts until ctx ends, or Close.
func Open(ctx context.Context, o runner.Options) (*Session, error) {
	live, err := runner.OpenLive(ctx, o)
	if err != nil {
		return nil, err
	}
	ledger, err := steps.LedgerOf(live.Protocol)
	if err != nil {
		live.Close()
		return nil, err
	}
	return &Session{live: live, ledger: ledger, told: map[finding]bool{}, worst: map[string]verdict.Outcome{}}, nil
}

// Protocol is the id of the session's protocol.
func (s *Session) Protocol() string { return steps.Name(s.live.Protocol) }

// Driver is the name of the transport.
func (s *Session) Driver() string { return s.live.Driver }

// URL is the target's; "" where it connects to the harness.
func (s *Session) URL() string { return s.live.URL }

// Transcript is the record of everything that was sent and received. It grows on.
func (s *Session) Transcript() *transcript.Transcript { return s.live.Transcript() }

// Redact blanks the secrets of the profile in a text that leaves the process.
func (s *Session) Redact(text string) string { return s.live.Redactor.String(text) }

// Ledger has the clauses of the protocol.
func (s *Session) Ledger() *verdict.Ledger { return s.ledger }

// Do carries a step out, with what stands below it. A keyword (Given, When, Then, And, But, *) before it is left out.
// The error is an *UndefinedError with steps that read alike, a *steps.ArgumentError, steps.ErrLiveOver or the cause of
// ctx: then nothing was done, but for the last, where the step was interrupted. What the step came to is in Judged.
func (s *Session) Do(ctx context.Context, text string, arg steps.StepArg) (steps.Judged, error) {
	text = withoutKeyword(text)
	from := s.Transcript().Len()
	judged, err := s.live.Do(ctx, text, arg)
	var undefined *steps.UndefinedError
	if errors.As(err, &undefined) {
		return judged, &UndefinedError{Text: text, Alike: s.Search(text, 3)}
	}
	if judged.Text != "" {
		s.mu.Lock()
		s.done = append(s.done, Did{text, arg, judged, from})
		for _, j := range judged.Outcomes {
			s.settle(j)
		}
		s.mu.Unlock()
	}
	return judged, err
}

// settle keeps the worst that was said of a clause. mu is locked.
func (s *Session) settle(j verdict.Judgement) {
	if was, ok := s.worst[j.Clause]; !ok || rank(j.Outcome) > rank(was) {
		s.worst[j.Clause] = j.Outcome
	}
}

func rank(o verdict.Outcome) int {
	return slices.Index([]verdict.Outcome{
		verdict.NotTested, verdict.NotApplicable, verdict.Passed, verdict.Warned, verdict.Failed,
	}, o)
}

// Steps are those that were carried out and not undone, in order.
func (s *Session) Steps() []Did {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.done)
}

// Undo takes the last step out of what Scenario writes; false where there is none. What the target was told it keeps.
func (s *Session) Undo() (Did, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.done) == 0 {
		return Did{}, false
	}
	last := s.done[len(s.done)-1]
	s.done = s.done[:len(s.done)-1]
	return last, true
}

// Outcomes are the worst judgements so far, of steps and monitors, by clause.
func (s *Session) Outcomes() map[string]verdict.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]verdict.Outcome, len(s.worst))
	for id, o := range s.worst {
		out[id] = o
	}
	return out
}

// Close ends the session as the end of a scenario does, ends the target that it has started, and gives what came of it.
// It may be called again.
func (s *Session) Close() steps.Result {
	res := s.live.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range slices.Concat(res.Clauses, res.Monitors) {
		if j.Reason != "not reached" {
			s.settle(j)
		}
	}
	return res
}

// Party is one party of a session, whose steps begin with its name.
type Party struct {
	s    *Session
	name string
}

// Party is the party of a name, such as "client A" or "agent B".
func (s *Session) Party(name string) Party { return Party{s, name} }

// Do carries out the step that begins with the party's name and goes on with text.
func (p Party) Do(ctx context.Context, text string) (steps.Judged, error) {
	return p.s.Do(ctx, p.name+" "+text, steps.StepArg{})
}

// Event is something that Follow tells: a record, or a monitor's finding on records so far.
type Event struct {
	Record  *transcript.Record // nil: a finding
	Failure steps.Failure      // with Monitor, Clause, Expected, Observed and At
}

// quiet is how long nothing has come before monitors judge: they see whole exchanges, and a flood costs them once.
const quiet = 30 * time.Millisecond

// Follow tells of each record behind mark as it comes, and of what the monitors find in them, each finding once, until
// ctx or the session ends. It returns the number of the last record. tell is called from one goroutine; while it works,
// records wait.
func (s *Session) Follow(ctx context.Context, mark int, tell func(Event)) int {
	t := s.Transcript()
	fresh := false
	for {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if fresh {
			wait, cancel = context.WithTimeout(ctx, quiet)
		}
		_, err := t.Await(wait, mark, func(r *transcript.Record) bool { return r.N > mark })
		cancel()
		for _, r := range t.After(mark) {
			mark, fresh = r.N, true
			tell(Event{Record: &r})
		}
		if ctx.Err() != nil {
			return mark
		}
		if err != nil { // quiet
			fresh = false
			s.monitor(ctx, tell)
		}
	}
}

// monitor tells what monitors find that was not told before.
func (s *Session) monitor(ctx context.Context, tell func(Event)) {
	said, failures, err := s.live.Judge(ctx)
	if err != nil {
		return
	}
	var news []steps.Failure
	s.mu.Lock()
	for _, j := range said {
		s.settle(j)
	}
	for _, f := range failures {
		key := finding{f.Monitor, f.Clause, f.At}
		if !s.told[key] {
			s.told[key] = true
			news = append(news, f)
		}
	}
	s.mu.Unlock()
	for _, f := range news {
		tell(Event{Failure: f})
	}
}
