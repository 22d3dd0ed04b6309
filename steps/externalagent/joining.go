package externalagent

import (
	"context"
	"sync/atomic"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// party is one connection of the harness: an agent or, if the target is a relay, a host.
type party struct {
	name     string
	role     string // the role in its relay.join
	session  string // the relay session
	conn     driver.Conn
	openErr  error
	opened   int // number of the record that asked for the connection
	looked   int // the last record examined by endedAt
	ended    int // the record found by endedAt
	joined   bool
	last     *request // its latest request
	asked    []*request
	study    string          // the study session given to it
	counting int             // the number of its next request; 0: its ids are unique in the run
	numbers  bool            // its ids are that number alone
	reset    string          // the relay session in which a study session of its own has ended; "": none has
	returned bool            // it has reconnected after losing its connection
	before   state           // the state before its latest call
	schemas  map[string]bool // the different toolSchemas of its latest booking
}

// course names the model of the messages to a party in its study session, which covers whatever follows from the
// session's state.
func (p *party) course() string { return p.name + "/" + p.study }

// party returns the party with a name, and creates it if necessary.
func (s *suite) party(name string) *party {
	p, ok := s.parties[name]
	if !ok {
		p = &party{name: name, role: vocab.AgentRole, session: s.relaySession("")}
		s.parties[name] = p
	}
	return p
}

// connect opens a connection and records the result, which later steps judge.
func (s *suite) connect(ctx context.Context, p *party) error {
	if p.conn != nil {
		_ = p.conn.Close(driver.Reset)
	}
	p.conn, p.joined, p.last = nil, false, nil
	if err := s.opensPage(ctx, p.session); err != nil {
		return err
	}
	p.opened = s.T.Len() // after the old connection's end
	p.looked, p.ended = p.opened, 0
	s.mark = p.opened
	var err error // nothing is sent before the join
	p.conn, p.openErr, err = s.Connect(ctx, driver.OpenOptions{Party: p.name, URL: s.url(), Header: s.header()},
		steps.Greeted)
	return err
}

// connected makes sure that a party has an open connection.
func (s *suite) connected(ctx context.Context, p *party) error {
	if p.conn == nil {
		if err := s.connect(ctx, p); err != nil {
			return err
		}
	}
	if p.openErr != nil {
		return s.Need(s.notOpened(p, "a connection of its own for "+p.name, "EA-016", "EA-106"))
	}
	return nil
}

// notOpened returns the check of a connection that could not be opened.
func (s *suite) notOpened(p *party, expected string, clauses ...string) verdict.Finding {
	return verdict.Finding{Clauses: clauses, At: s.T.Len(), Expected: expected, Judge: verdict.ByConnection,
		Observed: p.openErr.Error(), Miss: steps.NotOpened(p.openErr)}
}

// isConnected judges that the WebSocket is accepted (EA-017).
func (s *suite) isConnected(_ context.Context, p *party) error {
	if p.conn == nil && p.openErr == nil {
		return steps.NotTestedf("%s has not connected", p.name)
	}
	check := verdict.Finding{Clauses: []string{"EA-017"}, OK: p.conn != nil, At: s.T.Len(),
		Judge: verdict.ByConnection}
	if p.openErr != nil {
		check = s.notOpened(p, "the WebSocket handshake at "+s.wire.WS.Path+" accepted", "EA-017")
	}
	return s.Need(check)
}

// joins sends relay.join.
func (s *suite) joins(ctx context.Context, p *party) error {
	if err := s.hostIsThere(ctx, p); err != nil {
		return err
	}
	if err := s.opensPage(ctx, p.session); err != nil {
		return err
	}
	_, err := s.ask(ctx, p, vocab.RelayJoin, object{"role": p.role, vocab.SessionID: p.session})
	return err
}

// isJoined reports on the answer to relay.join (EA-028 to EA-030).
func (s *suite) isJoined(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.RelayJoin {
		return steps.NotTestedf("%s has not asked to join", p.name)
	}
	if _, err := s.needAnswer(ctx, q); err != nil {
		return err
	}
	p.joined = true
	s.RecordReach(steps.Given)
	return nil
}

// hasJoined makes sure that a party has joined its relay session.
func (s *suite) hasJoined(ctx context.Context, p *party) error {
	if at := s.endedAt(p); p.conn != nil && at > 0 {
		if p.study != "" {
			return s.Need(s.dropped(at, "EA-016"))
		}
		p.conn, p.joined, p.returned = nil, false, true // no clause forbids ending the connection with the session
	}
	if p.joined {
		return nil
	}
	return inTurn(ctx, p, s.getsIn, s.isJoined)
}

// dropped returns the check of a connection ended by the target.
func (s *suite) dropped(at int, clauses ...string) verdict.Finding {
	f := steps.CheckOf(s.T.After(at - 1)[0], false, "a connection that stays for the next message", clauses...)
	f.Judge = verdict.ByConnection
	return f
}

// getsIn asks to join. A relay may briefly take an earlier party, such as that of another scenario in a shared relay
// session, for still connected and refuse: it retries within the event limit. The latest answer is left to be judged.
func (s *suite) getsIn(ctx context.Context, p *party) error {
	end := deadline.In(s.Env.Event())
	for {
		if err := inTurn(ctx, p, s.connected, s.joins); err != nil {
			return err
		}
		q := p.last
		rec, miss := s.answeredOrClosed(ctx, q)
		if miss != nil || kindOf(&rec) == vocab.RelayJoined || !p.returned && !s.shared() || end.Over() {
			return nil
		}
		if closed(&rec) {
			p.conn = nil
		}
		s.pause(ctx)
	}
}

// answeredOrClosed waits for the answer to a request or the end of its connection.
func (s *suite) answeredOrClosed(ctx context.Context, q *request) (transcript.Record, *verdict.Miss) {
	return s.Await(ctx, steps.Wait{Conn: q.of.name, After: q.mark, Match: func(r *transcript.Record) bool {
		return answers(q.id)(r) || closed(r)
	}})
}

// pause waits a moment before a retry.
func (s *suite) pause(ctx context.Context) { s.pauseFor(ctx, 20*time.Millisecond) }

func (s *suite) pauseFor(ctx context.Context, d time.Duration) {
	ctx, cancel := deadline.WithLimit(ctx, d)
	defer cancel()
	_, _ = s.T.Await(ctx, s.T.Len(), func(*transcript.Record) bool { return false })
}

// modeOf returns how a connection ends, by the words of a step.
func modeOf(how string) driver.CloseMode {
	if how == "loses its connection" {
		return driver.Reset
	}
	return driver.Graceful
}

func (s *suite) disconnect(p *party, how driver.CloseMode) error {
	if p.conn == nil {
		return steps.NotTestedf("%s has no connection", p.name)
	}
	err := p.conn.Close(how)
	p.conn, p.joined, p.last, p.returned = nil, false, nil, true
	s.mark = s.T.Len()
	return err
}

// restart stops the target and starts it again at the same address. All connections end.
func (s *suite) restart(ctx context.Context, how string) error {
	err := s.Restart(ctx, how != "restarted")
	for _, p := range s.parties {
		if p.conn != nil {
			_ = s.disconnect(p, driver.Reset) // it may have ended already
		}
		p.study, p.reset = "", ""
	}
	for session := range s.plays {
		s.stopPlay(session)
	}
	s.leavePages()
	s.mark = s.T.Len()
	return err
}

// closed matches the end of a connection by the target.
func closed(r *transcript.Record) bool {
	return r.Dir == transcript.Received && (r.Kind == transcript.Closed || r.Kind == transcript.Failure)
}

// promptness is the longest time in nanoseconds that the agents of a run took from relay.joined to their first act.
type promptness struct{ most atomic.Int64 }

func (s *suite) promptness() *promptness { return learnt[promptness](s) }

// joinWindow is how long relay.joined is held back from an agent: several times as long as agents took for their
// first act after a prompt relay.joined, as seen in preflight. An agent that acts by its own clock has acted by then.
func (s *suite) joinWindow() time.Duration {
	return min(4*time.Duration(s.promptness().most.Load()), s.Env.Event(), s.joinLimit().Duration/2)
}

// learnPromptness records how long the agent of this scenario took for its first act.
func (s *suite) learnPromptness() {
	if joined, act := joinedAndAct(s.T.After(s.agent.started)); act != nil {
		s.promptness().atLeast(act.At - joined.At)
	}
}

// atLeast records that an agent took this long.
func (p *promptness) atLeast(took time.Duration) {
	for {
		was := p.most.Load()
		if int64(took) <= was || p.most.CompareAndSwap(was, int64(took)) {
			return
		}
	}
}

// joinedAndAct returns the first relay.joined sent to an agent and the agent's first message after it, or nil for
// what is missing.
func joinedAndAct(records []transcript.Record) (joined, act *transcript.Record) {
	for i := range records {
		r := &records[i]
		switch {
		case joined == nil && sent(vocab.RelayJoined)(r):
			joined = r
		case joined != nil && r.Conn == joined.Conn && fromAgent(r) && r.Kind == transcript.Frame:
			return joined, r
		}
	}
	return joined, nil
}

// joinedAt waits until the agent has been sent relay.joined.
func (s *suite) joinedAt(ctx context.Context) (transcript.Record, error) {
	rec, miss := s.awaitAgentOr(ctx, vocab.RelayJoined, s.agent.started, s.joinLimit(), sent(vocab.RelayJoined))
	if miss == nil {
		return rec, nil
	}
	if err := s.unreachable(); err != nil {
		return rec, err
	}
	return rec, s.without(miss, "has not joined")
}

// joinsLate holds relay.joined back from each agent that joins.
func (s *suite) joinsLate() {
	s.agent.play.joins = func(answer object) []any { return []any{max(s.window(), s.joinWindow()), answer} }
}

// waitsToJoin judges that an agent sends nothing between relay.join and the held back relay.joined (EA-026). If its
// first act takes at least half as long, it has shown nothing: by its own pace it might have acted after relay.joined
// anyway. If the harness can start another agent, it holds relay.joined back for longer with that one.
func (s *suite) waitsToJoin(ctx context.Context) error {
	for try := 1; ; try++ {
		slow, err := s.waitedToJoin(ctx)
		switch {
		case slow == "" || err != nil:
			return err
		case try == tries || s.wire.Agent.Listen != "":
			return steps.NotTestedf("%s", slow)
		}
		s.agent.stop()
		s.earlier += int(s.agent.came.Load())
		s.agent = nil
		s.T.Remark("", "%s", model.AnotherAgent)
		if err := s.awaitsAgent(ctx); err != nil {
			return err
		}
		s.joinsLate()
		if err := s.startsAgent(ctx); err != nil {
			return err
		}
	}
}

// waitedToJoin is waitsToJoin for one agent. slow says why a slow agent has shown nothing, or is "".
func (s *suite) waitedToJoin(ctx context.Context) (slow string, err error) {
	joined, err := s.joinedAt(ctx)
	if err != nil {
		return "", err
	}
	asked := joined
	for _, r := range s.Between(joined.Conn, s.agent.started, joined.N) {
		switch {
		case received(vocab.RelayJoin)(&r):
			asked = r
		case fromAgent(&r) && r.Kind == transcript.Frame && asked.N < joined.N:
			s.reports(&r, "EA-026")
			return "", nil
		}
	}
	act, miss := s.awaitAgent(ctx, joined.N, s.pace(), func(r *transcript.Record) bool {
		return r.Kind == transcript.Frame
	})
	if miss != nil {
		return "", s.without(miss, "sends nothing once it has joined")
	}
	prompt := time.Duration(s.promptness().most.Load())
	if prompt == 0 {
		return "", steps.NotTestedf("no scenario has shown how long the agent takes for its first message if relay.joined " +
			"comes at once")
	}
	if slow := tooSlow((joined.At-asked.At)/2, max(prompt, act.At-joined.At),
		"relay.joined was delayed for twice as long"); slow != "" {
		s.promptness().atLeast(act.At - asked.At) // possibly by its own pace
		return slow, nil
	}
	s.reports(&act, "EA-026")
	return "", nil
}
