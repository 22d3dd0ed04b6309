package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/internal/script"
	"parley/simulator"
	"parley/simulator/counterpart"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// creation is the body of a request for a session.
type creation struct {
	Kind     string `json:"kind"`
	Protocol string `json:"protocol"`

	Target string `json:"target"` // of a test, like Role, Driver and Strict
	Role   string `json:"role"`
	Driver string `json:"driver"`
	Strict bool   `json:"strict"`

	As      string `json:"as"` // of a play, like the following members
	Mind    string `json:"mind"`
	Mutant  string `json:"mutant"`
	Script  string `json:"script"`
	Listen  string `json:"listen"`
	Connect string `json:"connect"`
	Faults  string `json:"faults"`
	To      string `json:"to"`

	uploadedRecords // of a replay
}

// OpenTest begins a session with a target, as POST /sessions does.
func (c *Console) OpenTest(ctx context.Context, o TestOptions) (Session, error) {
	s, err := c.openSession(ctx, creation{Kind: kindTest, Protocol: o.Protocol, Target: o.Target, Role: o.Role,
		Driver: o.Driver, Strict: o.Strict})
	if err != nil {
		return Session{}, err
	}
	return s.sessionView(), nil
}

// OpenPlay begins to play a party, as POST /sessions does.
func (c *Console) OpenPlay(ctx context.Context, o PlayOptions) (Session, error) {
	s, err := c.openSession(ctx, creation{Kind: kindPlay, Protocol: o.Protocol, As: o.As, Mind: o.Mind,
		Mutant: o.Mutant,
		Script: o.Script, Listen: o.Listen, Connect: o.Connect, To: o.To,
		Faults: o.Faults})
	if err != nil {
		return Session{}, err
	}
	return s.sessionView(), nil
}

// createSession begins a session.
func (c *Console) createSession(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q creation
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	s, err := c.openSession(r.Context(), q)
	if err != nil {
		return nil, err
	}
	return s.sessionView(), nil
}

// openSession begins a session. The end of ctx interrupts the start of a target, but not the session itself.
func (c *Console) openSession(ctx context.Context, q creation) (*session, error) {
	id, err := c.reserveSession()
	if err != nil {
		return nil, err
	}
	defer c.work.Done()
	s := &session{id: id, kind: q.Kind, began: time.Now().UTC(), connections: map[string]Connection{},
		ready:  make(chan struct{}),
		breaks: map[int][]string{}, types: c.o.TypeOf, redact: func(text string) string { return text }}
	s.ctx, s.end = context.WithCancel(c.ctx)
	stop := context.AfterFunc(ctx, s.end)
	switch q.Kind {
	case kindTest:
		err = c.openTest(s, q)
	case kindPlay:
		err = c.openPlay(s, q)
	case kindReplay:
		if err = s.openReplay(q.uploadedRecords); err == nil && s.protocol == "" {
			s.protocol = c.recognizeProtocol(q.Protocol, s.records.After(0))
		}
	default:
		err = newError(http.StatusBadRequest,
			"kind: "+strconv.Quote(q.Kind)+" is not a kind of session (test, play or replay)")
	}
	if !stop() && err == nil {
		s.closeSession()
		err = context.Cause(ctx)
	}
	if err != nil {
		c.releaseReserved()
		s.end()
		return nil, err
	}
	return s, c.addSession(s)
}

// reserveSession makes room for a session, and returns its id. The caller must then call add or release, and work.Done.
func (c *Console) reserveSession() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return "", newError(http.StatusConflict, "the console is ending")
	case len(c.sessions)+c.starting >= MaxSessions:
		return "", newError(http.StatusConflict,
			fmt.Sprintf("there are %d sessions, which is the most (DELETE %s/sessions/{id})",
				MaxSessions, prefix))
	}
	c.starting++
	c.serial++
	c.work.Add(1)
	return strconv.Itoa(c.serial), nil
}

func (c *Console) releaseReserved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting--
}

// addSession makes a session known, and follows its records.
func (c *Console) addSession(s *session) error {
	c.mu.Lock()
	c.starting--
	closed := c.closed
	if !closed {
		c.sessions = append(c.sessions, s)
		s.followSession()
	}
	c.mu.Unlock()
	if closed {
		s.closeSession()
		return newError(http.StatusConflict, "the console is ending")
	}
	return nil
}

// openTest opens a session with a target.
func (c *Console) openTest(s *session, q creation) (err error) {
	s.options = TestOptions{Protocol: q.Protocol, Target: q.Target, Role: q.Role, Driver: q.Driver, Strict: q.Strict}
	if s.test, err = c.o.Open(s.ctx, s.options); err != nil {
		return err
	}
	s.protocol, s.redact, s.records = s.test.Protocol(), s.test.Redact, s.test.Transcript()
	s.began = s.test.Transcript().Began().UTC()
	s.options.Protocol = s.protocol
	return nil
}

// openPlay plays a party.
func (c *Console) openPlay(s *session, q creation) (err error) {
	if c.o.Play == nil {
		return newError(http.StatusConflict, "this program plays no parties (start a test session)")
	}
	if host, _, err := net.SplitHostPort(q.Listen); q.Listen != "" && !c.o.Exposed &&
		(err != nil || !isLoopback(host)) {
		return newError(http.StatusBadRequest, "listen: "+strconv.Quote(q.Listen)+
			" is not a loopback address such as 127.0.0.1:9000 (a console with a token and TLS may listen elsewhere)")
	}
	s.player, err = c.o.Play(s.ctx, PlayOptions{Protocol: q.Protocol, As: q.As, Mind: q.Mind, Mutant: q.Mutant,
		Script: q.Script, Listen: q.Listen, Connect: q.Connect, To: q.To,
		Faults: q.Faults, Found: s.foundBetween, Warn: c.o.Warn})
	if err != nil {
		return err
	}
	s.protocol, s.redact, s.records = s.player.Protocol(), s.player.Redact, s.player.Transcript()
	s.began, s.judge, s.dials = s.player.Transcript().Began().UTC(), s.player.Judge(), q.Connect != ""
	if url := s.player.URL(); !s.dials && url != "" && c.o.Endpoints != nil {
		s.endpoints = c.o.Endpoints(s.protocol, s.player.As(), s.redact(url))
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// followSession follows the session until it ends.
func (s *session) followSession() {
	close(s.ready)
	switch s.kind {
	case kindTest:
		s.work.Go(s.processRecords)
		s.work.Go(s.watchProgress)
		s.work.Go(s.watchOwed)
		s.work.Go(func() { // separate from processRecords: monitors wait while a step runs
			s.test.Follow(s.ctx, 0, func(e simulator.Event) {
				if e.Record == nil {
					s.keepFindings(s.reportFinding(e.Failure))
				}
			})
		})
	case kindPlay:
		s.work.Go(s.processRecords)
		s.work.Go(s.watchHeld)
		if s.judge != nil {
			s.work.Go(func() { s.judge.Follow(s.ctx, s.reportJudged) })
			s.work.Go(s.watchOwed)
		}
	case kindReplay:
		for _, r := range s.records.After(0) {
			s.observeRecord(r)
		}
	}
}

// processRecords processes the records.
func (s *session) processRecords() {
	for mark := 0; ; {
		_, err := s.records.Await(s.ctx, mark, func(*transcript.Record) bool { return true })
		changed := false
		for _, r := range s.records.After(mark) {
			mark = r.N
			changed = s.observeRecord(r) || changed
		}
		if changed {
			s.log.wakeForState()
		} else {
			s.log.wakeForRecords()
		}
		if err != nil {
			return
		}
	}
}

// reportJudged reports the findings of a play's judge, or that an outcome has changed.
func (s *session) reportJudged(all []steps.Failure) {
	for _, f := range all {
		s.reportFinding(f)
	}
	s.log.wakeForState()
}

// watchHeld reports changes in the messages that a play holds.
func (s *session) watchHeld() {
	for {
		changed := s.player.Changed()
		s.log.wakeForState()
		select {
		case <-changed:
		case <-s.ctx.Done():
			return
		}
	}
}

// Counterpart returns a play as a player. scriptOf reads a script: the name of a ready one, or the text of one.
func Counterpart(p *counterpart.Play, scriptOf func(text string) (*script.Script, error)) Player {
	return player{p, scriptOf}
}

type player struct {
	*counterpart.Play
	scriptOf func(text string) (*script.Script, error)
}

// Driver implements Player.
func (player) Driver() string { return "" }

// State implements Player.
func (p player) State() PlayState {
	s := p.Play.State()
	out := PlayState{Mind: string(s.Mind), Types: map[string]string{}, Mutant: s.Mutant, Script: s.Script}
	for typ, mind := range s.Types {
		out.Types[typ] = string(mind)
	}
	return out
}

// Judge implements Player.
func (p player) Judge() Judge {
	if j := p.Play.Judge(); j != nil {
		return j
	}
	return nil
}

// SetMind implements Player.
func (p player) SetMind(ctx context.Context, mind string, types ...string) error {
	return p.Play.SetMind(ctx, counterpart.Mind(mind), types...)
}

// SetScript implements Player.
func (p player) SetScript(_ context.Context, text string) error {
	s, err := p.scriptOf(text)
	if err != nil {
		return err
	}
	return p.Play.SetScript(s)
}

// Held implements Player.
func (p player) Held() []Held {
	var out []Held
	for _, h := range p.Play.Held() {
		to := h.What
		if h.Latest != "" {
			to += " after " + h.Latest
		}
		out = append(out, Held{N: h.N, Party: h.Party, Type: h.Type, To: to, Body: h.Body, Since: h.Since,
			Until: h.Until})
	}
	return out
}

// Decide implements Player.
func (p player) Decide(n int, d Decision) error {
	err := p.Play.Decide(n, counterpart.Decision{Drop: d.Drop, After: d.After, Instead: d.Instead})
	var gone *counterpart.NotHeldError
	if errors.As(err, &gone) {
		return &Error{Status: http.StatusNotFound, Text: err.Error()}
	}
	return err
}

// Send implements Player.
func (p player) Send(ctx context.Context, party string, body []byte) (int, error) {
	mark := p.Transcript().Len()
	if err := p.Play.Send(ctx, party, body); err != nil {
		return 0, err
	}
	for _, r := range p.Transcript().After(mark) {
		if r.Dir == transcript.Sent && r.Conn == party && string(r.Bytes) == string(body) {
			return r.N, nil
		}
	}
	return 0, nil
}

// Hang implements Player.
func (p player) Hang(_ context.Context, party string, how driver.CloseMode) error {
	return p.Play.Hang(party, how)
}
