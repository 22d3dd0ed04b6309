package sessionruntime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	judge "parley/steps/sessionruntime/model"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

const bus = "bus" // the connection's name in the transcript

// header returns the header sent with the handshake.
func (s *suite) header() http.Header { return s.Env.Profile.Header() }

// connect opens the bus connection.
func (s *suite) connect(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	s.opened = s.T.Len()
	o := driver.OpenOptions{Party: bus, Header: s.header()}
	if s.Env.Driver.Name() == target.Stdio {
		o.Process = target.Starter(s.Target)
	} else {
		o.URL = s.Target.BaseURL() + s.bind.wire.WS.Path
	}
	conn, err := s.Open(ctx, o)
	if err != nil {
		var refused *driver.OpenError
		if errors.As(err, &refused) && refused.Status != 0 {
			s.RecordReach(steps.Opened)
		}
		var start *target.StartError
		if steps.Unreachable(err) || errors.As(err, &start) {
			return &steps.UnreachableError{Err: err}
		}
		return s.Need(verdict.Finding{Clauses: []string{"RT-013"}, Expected: "a bus connected to the orchestrator",
			Observed: err.Error(), Miss: steps.NotOpened(err), Judge: verdict.ByConnection})
	}
	s.RecordReach(steps.Greeted)
	s.conn = conn
	return nil
}

// endedAt returns the number of the record in which the connection ended; 0 if it is open.
func (s *suite) endedAt() int {
	for _, r := range s.Between(bus, s.opened, 0) {
		if r.Kind == transcript.Closed || r.Kind == transcript.Failure {
			return r.N
		}
	}
	return 0
}

// write sends a frame unchanged.
func (s *suite) write(ctx context.Context, m driver.Message) (int, error) {
	if s.conn == nil {
		return 0, steps.NotTestedf("the bus is not connected")
	}
	if at := s.endedAt(); at > 0 {
		return 0, s.Need(verdict.Finding{Clauses: []string{"RT-013"}, At: at,
			Expected: "a bus that stays open for the next " +
				"message", Observed: steps.Seen(s.T.After(at - 1)[0]), Judge: verdict.ByConnection})
	}
	at, err := s.conn.Send(ctx, m)
	switch {
	case err != nil && s.endedAt() > 0:
		return 0, steps.NotTestedf("the bus has ended: %s", s.T.After(s.endedAt() - 1)[0].Line(200))
	case err != nil:
		return 0, fmt.Errorf("send %s: %w", m.Label, err)
	case at == 0:
		s.CutOff()
		return 0, steps.NotTestedf("the transcript is full: the target has sent more than it holds")
	}
	return at, nil
}

// deliver sends a message to the orchestrator, after handing back what it has published if the bus does that.
func (s *suite) deliver(ctx context.Context, f frame) (int, error) {
	if s.now == nil {
		return 0, s.noSession()
	}
	if f.target == vocab.ToBroadcast && !s.hearsBroadcast() {
		return 0, s.unheard()
	}
	s.awaitOverdue(ctx)
	if err := s.handBack(ctx); err != nil {
		return 0, err
	}
	if f.id == "" {
		f.id = fmt.Sprintf("m%d-%s", s.Serial(), s.Nonce)
	}
	if f.session == "" {
		f.session = s.now.id
	}
	f.now, s.cried = time.Now(), s.stderr()
	m, err := s.bind.encode(f)
	if err != nil {
		return 0, err
	}
	at, err := s.write(ctx, m)
	if err == nil {
		s.mark = at
	}
	return at, err
}

// hearsBroadcast reports whether the target's bus delivers BROADCAST messages to it.
func (s *suite) hearsBroadcast() bool {
	return slices.Contains(s.bind.wire.Subscribes, vocab.ToBroadcast)
}

func (s *suite) unheard() error {
	return &steps.NotApplicableError{Reason: "the target does not subscribe to BROADCAST (session-runtime.subscribes)"}
}

// again redelivers the frame of a record, as a second subscription would.
func (s *suite) again(ctx context.Context, at int) error {
	switch {
	case s.hearsBroadcast():
	case s.HasTag("@explored"):
		return nil
	default:
		return s.unheard()
	}
	for _, r := range s.T.All() {
		if r.N == at {
			_, err := s.write(ctx, driver.Message{Label: r.Label, Body: r.Bytes})
			return err
		}
	}
	return fmt.Errorf("there is no record %d", at)
}

// handBack delivers to the orchestrator what it has published on SYSTEM and BROADCAST, as a bus does to all
// subscribers.
func (s *suite) handBack(ctx context.Context) error {
	if !s.echo {
		return nil
	}
	for _, r := range s.Between(bus, s.echoed, 0) {
		s.echoed = max(s.echoed, r.N)
		if m, ok := judge.Read(r); ok && (m.Target == vocab.ToSystem || m.Target == vocab.ToBroadcast) {
			if _, err := s.write(ctx, driver.Message{Label: judge.Back + r.Label, Body: r.Bytes}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stderr returns what the target has written to stderr so far; over stdio, the process of this connection.
func (s *suite) stderr() string {
	if process, ok := s.conn.(interface{ Stderr() string }); ok {
		return process.Stderr()
	}
	if s.Target == nil {
		return ""
	}
	return s.Target.Stderr()
}
