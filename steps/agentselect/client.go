package agentselect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// client is one party of a scenario: its connection, what it was sent, and what it last did.
type client struct {
	name    string
	conn    driver.Conn
	openErr error
	opened  int             // number of the last record before the connection was opened
	noted   map[string]bool // where an undocumented event in the greeting was noted

	id      any // the connection id it was sent; nil before
	offered []vocab.AgentInfo

	session string   // id of the session bound to its connection; "" for none
	deleted string   // id of the session that it deleted
	earlier []string // its earlier sessions
	given   int      // number of the last record before the session was requested
	agent   string   // the agent of the last confirmed switch

	act     act
	refusal *transcript.Record
	list    *transcript.Record // the agent_list of the connection
	turn    *turn
	turns   []*turn
	aborted bool
	try     *attempt
	fences  map[int]bool // answers to fences, by record number
	probes  []string     // nonces of fences whose answers may come at any time

	repeated map[int]bool // answers whose repeats were awaited, by record number
	lost     loss         // what it had when its connection was cut on purpose
}

// act is the last message of a client that the server answers.
type act struct {
	mark     int
	kind     string
	agent    any // agent id as sent
	named    bool
	stranger bool // sent without a session while another client has one

	elsewhere bool          // it names a session other than its connection's
	of        *client       // the client whose session it names; nil: its own, or none
	missed    *verdict.Miss // the failed wait for its answer
}

// attempt is the result of creating or loading a session.
type attempt struct {
	session string
	of      *client // whose session was loaded; nil: it was created, or loaded by its id
	mark    int     // the record of the request
	refused string  // the reason; "" if it was accepted
	at      int
	miss    *verdict.Miss // set if no answer came
}

// acted records an act of a client; absence is judged from here.
func (s *suite) acted(c *client, a act) {
	c.act, s.mark, s.actor = a, a.mark, c
}

func (s *suite) client(name string) *client {
	c, ok := s.clients[name]
	if !ok {
		c = &client{name: name, fences: map[int]bool{}, repeated: map[int]bool{}}
		s.clients[name] = c
	}
	return c
}

// connect opens a connection and records the result, which later steps judge.
func (s *suite) connect(ctx context.Context, c *client, query string) error {
	if c.conn != nil {
		_ = c.conn.Close(driver.Reset)
	}
	c.conn, c.id, c.list, c.offered, c.session = nil, nil, nil, nil, ""
	c.opened, c.noted = s.T.Len(), map[string]bool{} // after the old connection's end
	conn, err := s.Open(ctx, driver.OpenOptions{Party: c.name, URL: s.bind.streamURL(query),
		Header: s.Env.Profile.Header(),
		Alone:  binding.Of(s.Env.Profile).Correlation.Single})
	c.openErr = err
	if err != nil {
		if steps.NotOpened(err).NotOwed {
			s.leaves(s.T.Len())
		}
		var refused *driver.OpenError
		if errors.As(err, &refused) && refused.Status != 0 {
			s.RecordReach(steps.Opened)
		}
		if steps.Unreachable(err) {
			return &steps.UnreachableError{Err: err}
		}
		return nil
	}
	s.RecordReach(steps.Opened)
	c.conn = conn
	return nil
}

// connected makes sure that a client has a connection and has received the list of agents.
func (s *suite) connected(ctx context.Context, c *client) error {
	if c.conn != nil && c.list != nil && c.id != nil {
		return nil
	}
	if c.conn == nil {
		if err := s.connect(ctx, c, ""); err != nil {
			return err
		}
	}
	if c.openErr != nil {
		return steps.NotTestedf("client %s could not connect: %v", c.name, c.openErr)
	}
	if _, err := s.greeted(ctx, c, vocab.ConnectedEvent); err != nil {
		return err
	}
	_, err := s.greeted(ctx, c, vocab.AgentListEvent)
	return err
}

// greeting waits for one of the first events of a client's connection, and records its content.
func (s *suite) greeting(ctx context.Context, c *client, kind string) (transcript.Record, *verdict.Miss) {
	rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: c.opened, Greeting: c.conn != nil,
		Match: isEvent(kind)})
	if miss == nil {
		s.learn(c, rec)
	}
	return rec, miss
}

// greeted is greeting as a precondition.
func (s *suite) greeted(ctx context.Context, c *client, kind string) (transcript.Record, error) {
	rec, miss := s.greeting(ctx, c, kind)
	if miss != nil {
		return rec, steps.NotTestedf("client %s did not receive %s: %s", c.name, kind, miss.Reason)
	}
	return rec, nil
}

// learn records what a greeting event says about the connection.
func (s *suite) learn(c *client, rec transcript.Record) {
	switch rec.Event.Type {
	case vocab.ConnectedEvent:
		c.id = field(rec, vocab.ConnectionID)
	case vocab.AgentListEvent:
		s.RecordReach(steps.Greeted)
		c.list = &rec
		c.offered = agentInfos(field(rec, vocab.Agents))
	}
}

// agentInfos reads a list of agents leniently: it omits entries that are not objects.
func agentInfos(v any) []vocab.AgentInfo {
	list, _ := v.([]any)
	var out []vocab.AgentInfo
	for _, e := range list {
		o, ok := e.(map[string]any)
		if !ok {
			continue
		}
		var a vocab.AgentInfo
		a.ID, _ = o["id"].(string)
		a.Name, _ = o["name"].(string)
		a.Description, _ = o["description"].(string)
		out = append(out, a)
	}
	return out
}

func find(list []vocab.AgentInfo, id string) (vocab.AgentInfo, bool) {
	for _, a := range list {
		if a.ID == id {
			return a, true
		}
	}
	return vocab.AgentInfo{}, false
}

func hasAgent(list []vocab.AgentInfo, id string) bool {
	_, ok := find(list, id)
	return ok
}

type match = func(*transcript.Record) bool

// isEvent matches received events by their names in the protocol.
func isEvent(kinds ...string) match {
	return func(r *transcript.Record) bool {
		return r.Event != nil && r.Dir == transcript.Received && slices.Contains(kinds, r.Event.Type)
	}
}

var (
	isSwitch   = isEvent(vocab.AgentSwitchedEvent)
	isError    = isEvent(vocab.ErrorEvent)
	isComplete = isEvent(vocab.CompleteEvent)
)

// send sends a message of a client.
func (s *suite) send(ctx context.Context, c *client, kind string, f fields) (int, error) {
	if c.conn == nil {
		return 0, steps.NotTestedf("client %s has no connection", c.name)
	}
	m, err := s.bind.message(kind, f, c.id)
	if err != nil {
		return 0, err
	}
	mark, err := c.conn.Send(ctx, m)
	if err != nil {
		return 0, fmt.Errorf("client %s: send %s: %w", c.name, kind, err)
	}
	if mark == 0 {
		s.CutOff()
		return 0, steps.NotTestedf("the transcript is full: the target has sent more than it holds")
	}
	return mark, nil
}

// openSession creates a session, or loads the one in f, over the current driver, and binds it to the client's
// connection. It returns the result.
func (s *suite) openSession(ctx context.Context, c *client, kind string, f fields) (*attempt, error) {
	asked := s.T.Len()
	over := s.openSessionHTTP
	if s.bind.ws {
		over = s.openSessionWS
	}
	try, err := over(ctx, c, kind, f)
	if err != nil || try.refused != "" {
		return &try, err
	}
	if c.session != "" {
		c.earlier = append(c.earlier, c.session)
	}
	c.session, c.agent, c.given = try.session, "", asked
	return &try, nil
}

func (s *suite) openSessionHTTP(ctx context.Context, c *client, kind string, f fields) (attempt, error) {
	mark, err := s.send(ctx, c, kind, f)
	if err != nil {
		return attempt{}, err
	}
	rec, miss := s.answer(ctx, c, mark)
	if miss != nil {
		return attempt{mark: mark, refused: "no answer to the request: " + miss.Reason, at: miss.At, miss: miss}, nil
	}
	if why := s.notAccepted(rec); why != "" {
		return attempt{mark: mark, refused: why, at: rec.N}, nil
	}
	if id := s.model(rec.N).Given(c.name); id != "" {
		return attempt{mark: mark, session: id, at: rec.N}, nil
	}
	return attempt{mark: mark, at: rec.N, refused: fmt.Sprintf("the answer has no session id (a string) at %s: %s",
		binding.Of(s.Env.Profile).Fields.Answer.SessionID, clip(string(rec.Bytes)))}, nil
}

// answer waits for the HTTP answer to a request.
func (s *suite) answer(ctx context.Context, c *client, mark int) (transcript.Record, *verdict.Miss) {
	return s.Await(ctx, steps.Wait{
		Conn: c.name, After: mark, Within: s.Env.Profile.Limits.HTTP.Duration,
		Match:    func(r *transcript.Record) bool { return r.Kind == transcript.Response && r.Reply == mark },
		Hopeless: func(r *transcript.Record) string { return failed(r, mark) },
	})
}

// failed returns why a request failed, if the record says so; otherwise "".
func failed(r *transcript.Record, mark int) string {
	if r.Kind == transcript.Failure && r.Reply == mark {
		return r.Label
	}
	return ""
}

// notAccepted returns why an HTTP answer is a refusal: its status is not 2xx, or its success field is false.
func (s *suite) notAccepted(r transcript.Record) string {
	if r.Status < 200 || r.Status > 299 {
		return strings.TrimSpace("HTTP " + r.Label + " " + clip(string(r.Bytes)))
	}
	v, _, err := wjson.Decode(r.Bytes)
	if err != nil {
		return ""
	}
	if ok, found := binding.Of(s.Env.Profile).Fields.Answer.Success.Get(v); found && ok == false {
		return "success is false"
	}
	return ""
}

func (s *suite) openSessionWS(ctx context.Context, c *client, kind string, f fields) (attempt, error) {
	reqID := fmt.Sprintf("req-%s-%d", s.Nonce, s.Serial())
	named := fields{vocab.RequestID: reqID}
	maps.Copy(named, f)
	mark, err := s.send(ctx, c, kind, named)
	if err != nil {
		return attempt{}, err
	}
	done := vocab.SessionCreatedEvent
	if kind == vocab.SessionLoadType {
		done = vocab.SessionLoadedEvent
	}
	rec, miss := s.Await(ctx, steps.Wait{
		Conn: c.name, After: mark, Within: s.Env.Profile.Limits.HTTP.Duration,
		Match: func(r *transcript.Record) bool { return isEvent(done)(r) && bears(r, reqID) },
		Hopeless: func(r *transcript.Record) string {
			if isError(r) && bears(r, reqID) {
				return "refused: " + wjson.Compact(steps.AsCame(r.Event))
			}
			return ""
		},
	})
	if miss != nil {
		return attempt{mark: mark, refused: miss.Reason, at: miss.At, miss: miss}, nil
	}
	id := s.model(rec.N).Given(c.name)
	if id == "" {
		why := done + " has no sessionId: " + wjson.Compact(steps.AsCame(rec.Event))
		return attempt{mark: mark, refused: why, at: rec.N}, nil
	}
	return attempt{mark: mark, session: id, at: rec.N}, nil
}

// bears reports whether an event answers the request with this id. An error without a request id may answer it too.
func bears(r *transcript.Record, id string) bool {
	in := field(*r, vocab.RequestID)
	if r.Event.RequestID == nil && in == nil {
		return r.Event.Type == vocab.ErrorEvent
	}
	return r.Event.RequestID == any(id) || in == any(id)
}

// withSession makes sure that a client has a session of its own.
func (s *suite) withSession(ctx context.Context, c *client) error {
	if err := s.connected(ctx, c); err != nil {
		return err
	}
	if c.session != "" {
		return nil
	}
	return s.mustCreate(ctx, c)
}

// mustCreate creates a session as a precondition. A target that cannot tell connections apart may need a moment to
// notice that another one has closed, so there a refusal is retried until the event limit.
func (s *suite) mustCreate(ctx context.Context, c *client) (err error) {
	var try *attempt
	s.retry(ctx, c, s.Limit(s.Env.Event()), func() (again bool) {
		try, err = s.openSession(ctx, c, vocab.SessionCreateType, nil)
		return err == nil && try.refused != "" && binding.Of(s.Env.Profile).Correlation.Single
	})
	if err == nil && try.refused != "" {
		err = steps.NotTestedf("client %s could not create a session: %s", c.name, try.refused)
	}
	return err
}

// retry repeats do while it asks for that, until a limit, with growing pauses.
func (s *suite) retry(ctx context.Context, c *client, within time.Duration, do func() (again bool)) {
	until := deadline.In(within)
	for pause := 5 * time.Millisecond; do() && !until.Over() && ctx.Err() == nil; {
		s.pace(ctx, c, s.T.Len(), pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}

func quoted(v any) string {
	if t, ok := v.(string); ok {
		return fmt.Sprintf("%q", t)
	}
	return strings.TrimSpace(wjson.Compact(v))
}
