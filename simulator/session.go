// Package simulator holds live sessions: a person, a script or a test plays any party of a protocol, in the steps of
// the features, and sees at once how each message is judged. A session judges exactly as a run does: with the same
// steps and the same monitors.
//
//	s, err := simulator.Open(ctx, runner.Options{Protocols: protocols.All, Profile: profile})
//	a := s.Party("client A")
//	a.Do(ctx, `is connected`)
//	judged, err := a.Do(ctx, `switches to "debugger"`)
//
// The front ends of a session, such as the terminal, use this package and know no protocol.
package simulator

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/runner"
	"parley/steps"
	"parley/steps/obligation"
	"parley/transport/driver"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// Session is one live session with a target. Safe for concurrent use; steps are serialised.
type Session struct {
	live   *runner.Live
	ledger *verdict.Ledger

	judging context.CancelFunc // ends the goroutine that runs the monitors
	judge   sync.WaitGroup
	over    chan struct{} // closed at the end

	checking sync.Mutex // held while monitors run
	seen     int        // the last record that monitors of single records have judged
	whole    int        // records at the last run of all monitors; see due
	cost     time.Duration

	mu    sync.Mutex
	done  []DoneStep
	worst verdict.Worst
	left  map[leaving]struct{} // what steps have left not tested
	found []steps.Failure      // findings of monitors, the first of each monitor and clause
	fresh chan struct{}        // closed and replaced with each finding
	known known

	courses courses
	owing   *steps.Owing // nil: the protocol has no model
}

// leaving is a clause that a step has not tested. The same step tests it later if the act that was missing was made.
type leaving struct{ step, clause string }

// DoneStep is a step that was executed, with its result, or what Send or Hang did.
type DoneStep struct {
	Text   string
	Raw    bool // done by Send or Hang; Text and Arg are the equivalent raw step
	Arg    steps.StepArg
	Judged steps.Judged
	From   int // number of the last record before it
}

// Open launches or reaches the target of o, and begins a session with it. See runner.OpenLive for the options that
// apply and for the errors. The session lasts until ctx ends or Close is called.
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
	s := &Session{live: live, ledger: ledger, over: make(chan struct{}), worst: verdict.Worst{},
		left:  map[leaving]struct{}{},
		fresh: make(chan struct{}),
		owing: steps.NewOwing(live.Protocol, live.Role, "", obligation.Ours)}
	ctx, s.judging = context.WithCancel(ctx)
	s.judge.Go(func() { s.judgeOn(ctx) })
	return s, nil
}

// Protocol returns the id of the session's protocol.
func (s *Session) Protocol() string { return steps.Name(s.live.Protocol) }

// Role returns the role of the target; "" if the protocol has none.
func (s *Session) Role() string { return s.live.Role }

// Driver returns the name of the transport.
func (s *Session) Driver() string { return s.live.Driver }

// URL returns the target's URL; "" if the target connects to the harness.
func (s *Session) URL() string { return s.live.URL }

// Transcript returns the transcript of everything sent and received, which keeps growing.
func (s *Session) Transcript() *transcript.Transcript { return s.live.Transcript() }

// Nonce returns the part that the names given by the harness share in this session.
func (s *Session) Nonce() string { return s.live.Nonce }

// Redact removes the profile's secrets from a text that leaves the process.
func (s *Session) Redact(text string) string { return s.live.Redactor.String(text) }

// Ledger returns the clauses of the protocol.
func (s *Session) Ledger() *verdict.Ledger { return s.ledger }

// Do executes a step with its argument. It ignores a keyword (Given, When, Then, And, But, *) before the step. The
// error is a *steps.UndefinedError with similar steps, a *steps.ArgumentError, steps.ErrLiveOver or the cause of ctx.
// Only in the last case had the step begun, and was interrupted. The step's own result is in Judged.
func (s *Session) Do(ctx context.Context, text string, arg steps.StepArg) (steps.Judged, error) {
	text = withoutKeyword(text)
	from := s.Transcript().Len()
	judged, err := s.live.Do(ctx, text, arg)
	if judged.Text != "" {
		s.mu.Lock()
		s.done = append(s.done, DoneStep{Text: text, Arg: arg, Judged: judged, From: from})
		for _, j := range judged.Outcomes {
			if at := (leaving{text, j.Clause}); j.Outcome == verdict.NotTested {
				s.left[at] = struct{}{}
			} else {
				delete(s.left, at)
				s.worst.Take(j.Clause, j.Outcome)
			}
		}
		s.mu.Unlock()
	}
	return judged, err
}

// Steps returns the executed steps that were not undone, in order.
func (s *Session) Steps() []DoneStep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.done)
}

// Undo removes the last step from what Scenario writes; false if there is none. It does not undo the step's effect on
// the target.
func (s *Session) Undo() (DoneStep, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.done) == 0 {
		return DoneStep{}, false
	}
	last := s.done[len(s.done)-1]
	s.done = s.done[:len(s.done)-1]
	return last, true
}

// Outcomes returns the worst outcomes so far, of steps and monitors, by clause. What a step left not tested does not
// count any more once the same step has judged it; a failure stays.
func (s *Session) Outcomes() map[string]verdict.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.worst)
	for l := range s.left {
		all.Take(l.clause, verdict.NotTested)
	}
	return all
}

// Record writes the records so far to w as a recording, without the profile's secrets.
func (s *Session) Record(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	rec, err := recording.NewWriter(buffered, recording.Header{Protocol: s.Protocol(), Role: s.live.Role,
		Driver: s.live.Driver, URL: s.live.URL, Began: s.Transcript().Began()}, s.live.Redactor)
	if err != nil {
		return err
	}
	for r := range s.Transcript().From(0) {
		err = errors.Join(err, rec.Add(r))
	}
	return errors.Join(err, buffered.Flush())
}

// Close ends the session like any scenario, stops the target if the session started it, and returns the result. The
// records that its transcript holds in memory stay readable. It may be called again.
func (s *Session) Close() steps.Result {
	s.judging()
	s.judge.Wait()
	s.checking.Lock()
	defer s.checking.Unlock()
	_ = s.judgeNew(context.Background()) // steps.ErrLiveOver on a second call
	res := s.live.Close()
	if s.isOver() {
		return res
	}
	var monitors []steps.Failure
	for _, f := range res.Failures {
		if f.Monitor != "" {
			monitors = append(monitors, f)
		}
	}
	said := slices.DeleteFunc(slices.Concat(res.Clauses, res.Monitors),
		func(j verdict.Judgement) bool { return j.Reason == "not reached" })
	s.reportFindings(said, monitors)
	close(s.over)
	return res
}

// Party is one party of a session. Its steps begin with its name.
type Party struct {
	s    *Session
	name string
}

// Party returns the party with a name, such as "client A" or "agent B".
func (s *Session) Party(name string) Party { return Party{s, name} }

// Do executes the step that consists of the party's name and text.
func (p Party) Do(ctx context.Context, text string) (steps.Judged, error) {
	return p.s.Do(ctx, p.name+" "+text, steps.StepArg{})
}

// keywords matches the keyword before a step.
var keywords = regexp.MustCompile(`^(?:Given|When|Then|And|But|\*)\s+`)

func withoutKeyword(text string) string {
	return keywords.ReplaceAllString(strings.TrimSpace(text), "")
}

// Patterns returns the steps of the protocol as shown to people.
func (s *Session) Patterns() []string {
	var all []string
	for _, expr := range s.live.Expressions() {
		all = append(all, steps.StepPattern(expr))
	}
	return all
}

// Search returns the steps that share the most words with a text, the closest first; at most n, or all for n = 0. For
// a text without words it returns all steps, in their order.
func (s *Session) Search(text string, n int) []string {
	return steps.Alike(s.live.Expressions(), text, n)
}

// Send writes bytes to the connection of a party unchanged, whatever they mean, and returns the number of the record.
// If messages are HTTP requests, the method and the path come first: POST /message {"type":"abort"}. Scenario writes a
// raw step for it. The error is a *steps.NoPartyError, that of the driver, or says what is missing.
func (s *Session) Send(ctx context.Context, party string, body []byte) (mark int, err error) {
	from := s.Transcript().Len()
	mark, err = s.live.Send(ctx, party, body, false)
	if err != nil {
		return mark, err
	}
	if mark > 0 {
		from = mark - 1
	}
	text, arg := steps.RawStep(s.PartyName(party), s.live.Redactor.Bytes(body), false)
	s.recordDone(DoneStep{Text: text, Arg: arg, Raw: true, From: from})
	return mark, nil
}

// Hang ends the connection of a party: with a closing handshake if the transport has one, or by a reset. Scenario
// writes a raw step for it.
func (s *Session) Hang(ctx context.Context, party string, how driver.CloseMode) error {
	from := s.Transcript().Len()
	err := s.live.Hang(ctx, party, how)
	if err == nil {
		s.recordDone(DoneStep{Text: steps.HangStep(s.PartyName(party), how), Raw: true, From: from})
	}
	return err
}

func (s *Session) recordDone(d DoneStep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, d)
}

// PartyName is what the steps so far call a party, such as "client A" for A.
func (s *Session) PartyName(party string) string {
	with := regexp.MustCompile(`^\pL+ ` + regexp.QuoteMeta(party) + `\b`)
	for _, d := range s.Steps() {
		if name := with.FindString(d.Text); name != "" {
			return name
		}
	}
	return party
}

// Parties returns the parties that have been connected, sorted.
func (s *Session) Parties(ctx context.Context) ([]string, error) { return s.live.Parties(ctx) }
