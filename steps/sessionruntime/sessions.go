package sessionruntime

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/model"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

func (s *suite) registerSessions(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the bus is connected$`, s.connect)
	steps.Step(sc, `^a session of (agents? .+) where (nobody|agent "\w") is active$`,
		func(ctx context.Context, agents, active string) error { return s.setUp(ctx, "main", agents, active) })
	steps.Step(sc, `^session "(\w+)" of (agents? .+) where (nobody|agent "\w") is active$`, s.setUp)
	steps.StepsAfter(sc, s.noSession, func() { s.registerInSession(sc) })
	steps.Step(sc, `^the next steps are in session "(\w+)"$`, s.inSession)
	steps.Step(sc, `^a short limit for acknowledgements of inputs$`, s.hurried)
	steps.Step(sc, `^a short limit for confirmations of cancels$`, func() {
		s.limits.CancelAck = binding.Of(s.Env.Profile).Limits.CancelAck.Duration
	})
	steps.Step(sc, `^the orchestrator receives what it publishes on SYSTEM and BROADCAST$`, s.handsBack)
}

// registerInSession registers the steps about a session that was set up.
func (s *suite) registerInSession(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the session is set up anew$`, s.setUpAnew)
	steps.Step(sc, `^everything is handled$`, s.fence)
	steps.Step(sc, `^the answer to a fence follows everything that the (\d+) inputs before it cause$`, s.fenceIsLate)

	steps.Step(sc, `^the user (opens|closes) the session( on BROADCAST)?$`, s.asksForSession)
	steps.Step(sc, `^SessionManager is asked to (open|close) the session$`, s.managerAskedForSession)
	steps.Step(sc, `^SessionManager says that the session (is opened|is closed|could not be opened|could not be closed)$`,
		s.sessionReceipt)
	steps.Step(sc, `^the frontend is told that the session (is opened|is closed|could not be opened|could not be closed)$`,
		s.sessionTold)
}

// noSession returns why a step about a session cannot be carried out; nil if it can.
func (s *suite) noSession() error {
	if s.now == nil {
		return steps.NotTestedf("no session was set up")
	}
	return nil
}

var letters = regexp.MustCompile(`"(\w)"`)

func (s *suite) setUp(ctx context.Context, name, agents, active string) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	ss := &session{name: name, id: fmt.Sprintf("%s-%s", name, s.Nonce), inputs: map[string]*input{},
		handovers: map[string]*handover{}, requests: map[string]judge.Message{}, told: map[string]bool{}}
	for _, m := range letters.FindAllStringSubmatch(agents, -1) {
		ss.agents = append(ss.agents, m[1])
	}
	if m := letters.FindStringSubmatch(active); m != nil {
		ss.first = m[1]
	}
	s.sessions[name], s.now = ss, ss
	return s.sendSetUp(ctx, ss)
}

// sendSetUp sends the set-up frame and waits for the answer.
func (s *suite) sendSetUp(ctx context.Context, ss *session) error {
	agents := []any{}
	for _, letter := range ss.agents {
		agents = append(agents, s.agent(letter))
	}
	doc := map[string]any{"parley": vocab.Setup, "session_id": ss.id, "agents": agents, "active_agent_id": nil,
		"limits": map[string]any{"input_ack_ms": int(s.limits.InputAck.Milliseconds()),
			"cancel_ack_ms": int(s.limits.CancelAck.Milliseconds())}}
	ss.active = ss.first
	if ss.first != "" {
		doc["active_agent_id"] = s.agent(ss.first)
	}
	body, err := wjson.Encode(doc)
	if err != nil {
		return fmt.Errorf("set-up: %w", err)
	}
	at, err := s.write(ctx, driver.Message{Label: judge.SetupFrame, Body: body})
	if err != nil {
		return err
	}
	ss.began = at
	own := s.Env.Profile.Limits // a process may still be starting
	_, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: at, Within: max(own.Open.Duration, own.Event.Duration),
			Match: func(r *transcript.Record) bool {
				return r.Event != nil && r.Event.Type == judge.ReadyFrame &&
					(member(r, judge.Session) == nil || member(r, judge.Session) == ss.id)
			}})
	if miss != nil {
		return s.Need(verdict.Finding{Clauses: []string{"RT-013"},
			Expected: `{"parley":"ready"} for a new session`,
			Observed: s.inPlace(at, miss), At: miss.At, Miss: miss})
	}
	s.RecordReach(steps.Given)
	return nil
}

// setUpAnew resets the session: to the orchestrator nothing has been said yet.
func (s *suite) setUpAnew(ctx context.Context) error {
	s.now.inputs, s.now.handovers, s.now.anew = map[string]*input{}, map[string]*handover{}, true
	return s.sendSetUp(ctx, s.now)
}

func (s *suite) inSession(name string) error {
	ss, ok := s.sessions[name]
	if !ok {
		return steps.NotTestedf("there is no session %q", name)
	}
	s.now = ss
	return nil
}

// hurried gives the following sessions the shortest INPUT_ACK limit that the profile allows.
func (s *suite) hurried() error {
	s.limits.InputAck = binding.Of(s.Env.Profile).Limits.InputAck.Duration
	return nil
}

func (s *suite) handsBack() error {
	s.echo, s.echoed = true, s.T.Len()
	return nil
}

// asksForSession sends SESSION_OPEN or SESSION_CLOSE (4H).
func (s *suite) asksForSession(ctx context.Context, what, where string) error {
	subtype := map[string]string{"opens": vocab.SessionOpen, "closes": vocab.SessionClose}[what]
	at, err := s.deliver(ctx,
		frame{event: vocab.Control, subtype: subtype, from: judge.Frontend, target: onBroadcast(where),
			payload: map[string]any{"session_id": s.now.id}})
	s.now.asked = at
	return err
}

func (s *suite) managerAskedForSession(ctx context.Context, what string) (err error) {
	k := map[string]judge.Kind{"open": judge.RequestOpen, "close": judge.RequestClose}[what]
	clauses := []string{"RT-020", "RT-036", "RT-151", "RT-153"}
	if ack := s.stopped(s.now.asked); ack.N > 0 { // the CANCEL already shows that it was accepted
		clauses = []string{"RT-153"}
		if s.was(k) { // it came while no agent was speaking
			clauses = append(clauses, "RT-152")
		}
	}
	s.now.request,
		err = s.published(ctx, s.now.asked, clauses, "CONTROL "+string(k)+" to SYSTEM", func(m judge.Message) bool {
		return m.Kind() == k
	},
		instead{clauses: []string{"RT-153"}, how: "it is another request, or for another party",
			match: control(vocab.RequestSessionOpen, vocab.RequestSessionClose)})
	if err != nil {
		return err
	}
	return s.Judge(verdict.Finding{Clauses: []string{"RT-020", "RT-036", "RT-151", "RT-152", "RT-153"}, OK: true})
}

// stopped returns the confirmation of a cancel given after a record; the zero message if there is none.
func (s *suite) stopped(after int) judge.Message {
	return s.latest(func(m judge.Message) bool {
		return m.N > after && (m.Subtype == vocab.CancelAck || m.Subtype == vocab.StreamStopped)
	})
}

var sessionReceipts = map[string]string{"is opened": vocab.SessionOpened, "is closed": vocab.SessionClosed,
	"could not be opened": vocab.SessionFailed, "could not be closed": vocab.SessionFailed}

// sessionReceipt sends SESSION_OPENED, SESSION_CLOSED or SESSION_FAILED for the request made.
func (s *suite) sessionReceipt(ctx context.Context, what string) error {
	payload := map[string]any{"session_id": s.now.id}
	if sessionReceipts[what] == vocab.SessionFailed {
		payload["reason"], payload["error"] = "the store cannot be reached", "the store cannot be reached"
	}
	k := judge.RequestOpen
	if strings.HasSuffix(what, "closed") {
		k = judge.RequestClose
	}
	to := s.now.request
	if to.Kind() != k { // a receipt has the ids of a request of its own kind, or none
		to, _ = s.find(0, func(m judge.Message) bool { return m.Kind() == k })
	}
	at, err := s.deliver(ctx, s.receipt(sessionReceipts[what], to, payload))
	s.now.receipt = at
	return err
}

// receipt returns the answer to a request of the orchestrator, with its ids.
func (s *suite) receipt(subtype string, to judge.Message, payload map[string]any) frame {
	return frame{event: vocab.Control, subtype: subtype, from: judge.Manager, trace: to.Trace, turn: to.Turn, tx: to.Tx,
		payload: payload}
}

// sessionTold checks that the frontend gets the result, as EVENT or ERROR (RT-155).
func (s *suite) sessionTold(ctx context.Context, what string) error {
	told := func(m judge.Message) bool { return judge.TellsOfSession(m, sessionReceipts[what]) }
	_, err := s.published(ctx, s.now.receipt, []string{"RT-045", "RT-046", "RT-155", "RT-166"},
		"the result sent to the frontend, as EVENT or ERROR", told,
		instead{clauses: []string{"RT-046", "RT-155"}, how: "it is not sent to the frontend",
			match: func(m judge.Message) bool { return m.Subtype == sessionReceipts[what] && m.Target != vocab.ToFrontend }},
		instead{clauses: []string{"RT-155"}, how: "the result is reported incorrectly", match: func(m judge.Message) bool {
			return m.Subtype == sessionReceipts[what] || m.Kind() == judge.Opened || m.Kind() == judge.Closed
		}},
		instead{since: s.now.asked, clauses: []string{"RT-154"}, how: "it came before the receipt",
			match: func(m judge.Message) bool { return told(m) && (m.Kind() == judge.Opened || m.Kind() == judge.Closed) }})
	if err != nil {
		return err
	}
	return s.Judge(verdict.Finding{Clauses: []string{"RT-154"}, OK: true})
}

// punctual is the longest delay accepted for a message triggered by a limit. A target that uses its own limit, likely
// 5 s or 10 s, does not use the requested one.
const punctual = 4 * time.Second

// withLimit returns how long to wait for a message that comes by itself when a limit expires.
func (s *suite) withLimit(limit time.Duration) time.Duration {
	return limit + min(s.Env.Event(), punctual)
}

// acceptedLate fails a turn that was not accepted before its agent had answered. The turn is over, and so is the
// scenario.
func (s *suite) acceptedLate(ctx context.Context, in *input, clauses []string, what string,
	accepts func(judge.Message) bool, other instead) error {
	within := s.Env.Event()
	if s.bind.wire.Fence {
		within = s.Env.Profile.Limits.Quiet.Duration
	}
	of := s.now
	late, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: in.said, Within: within, Match: func(r *transcript.Record) bool {
			m, ok := judge.Read(*r)
			return ok && !m.Delivered && s.belongs(m, of) && accepts(m)
		}})
	if miss == nil {
		m, _ := judge.Read(late)
		broken := []string{"RT-074"}
		if _, behind := s.find(in.said, func(o judge.Message) bool { return o.Kind() == judge.Output && o.N < m.N }); behind {
			broken = append(broken, "RT-170") // even after the output that it announces
		}
		return s.Need(verdict.Finding{Clauses: broken, Expected: what, Observed: "it came only after the acknowledgement: " +
			seen(m), At: m.N})
	}
	if m, there := s.find(in.said, other.match); there {
		return s.Need(verdict.Finding{Clauses: other.clauses, Expected: what, Observed: other.how + ": " + seen(m), At: m.N})
	}
	return s.Need(verdict.Finding{Clauses: clauses, Expected: what, Observed: s.inPlace(in.said, miss), At: miss.At})
}

// answeredFirst makes the agent of a turn answer and end it if TURN_ACCEPTED does not come at once, and reports whether
// the agent did.
func (s *suite) answeredFirst(ctx context.Context, in *input) (bool, error) {
	accepts := func(m judge.Message) bool { return m.Kind() == judge.Accepted }
	if _, there := s.find(in.said, accepts); there || in.routed == 0 {
		return false, nil
	}
	if there, err := s.foundByFence(ctx, in.said, accepts); err != nil || there {
		return false, err
	}
	for _, f := range []frame{
		{event: vocab.Control, subtype: vocab.InputAck, payload: map[string]any{}},
		{event: vocab.AgentOutput, payload: map[string]any{"text": "piece " + s.token()}, stream: &stream{final: true}},
	} {
		f.from, f.trace, f.turn = in.agent, in.trace, in.turn
		if _, err := s.deliver(ctx, f); err != nil {
			return false, err
		}
	}
	return true, s.fence(ctx)
}

// foundByFence reports whether a message is published by the time everything is handled. Since an adapter may answer
// a fence before its pending tasks have run, it also waits for a quiet window in which nothing is delivered.
func (s *suite) foundByFence(ctx context.Context, after int, match func(judge.Message) bool) (bool, error) {
	if err := s.fence(ctx); err != nil {
		return false, err
	}
	if _, there := s.find(after, match); there || !s.bind.wire.Fence {
		return there, nil
	}
	of, fenced := s.now, s.lastFenced()
	late, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: fenced.N, Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: func(r *transcript.Record) bool {
				m, ok := judge.Read(*r)
				return ok && !m.Delivered && s.belongs(m, of) && match(m)
			}})
	if miss == nil {
		s.fenceIsEarly(late, fenced)
	}
	return miss == nil, nil
}

// accepted checks that the frontend is notified at once (RT-074, RT-076).
func (s *suite) accepted(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	clauses, other := []string{"RT-009", "RT-074", "RT-076", "RT-170"}, []string{"RT-076"}
	if in.form != nil {
		clauses, other = append(clauses, "RT-093"), append(other, "RT-093")
	}
	instead := instead{clauses: other, how: "it is for another turn or another party",
		match: func(m judge.Message) bool { return m.Subtype == vocab.TurnAccepted }}
	accepts := func(m judge.Message) bool {
		return m.Kind() == judge.Accepted && (in.turn == "" || m.Turn == in.turn || m.Turn == "")
	}
	const what = "TURN_ACCEPTED to the frontend before any acknowledgement"
	if probed, err := s.answeredFirst(ctx, in); err != nil {
		return err
	} else if probed {
		return s.acceptedLate(ctx, in, clauses, what, accepts, instead)
	}
	m, err := s.published(ctx, in.said, clauses, what, accepts, instead)
	if err != nil {
		return err
	}
	return s.Judge(verdict.Finding{Clauses: []string{"RT-170"}, OK: !s.Env.Strict || m.Event == vocab.Event,
		Expected: "TURN_ACCEPTED as an EVENT", Observed: m.Name(), At: m.N})
}
