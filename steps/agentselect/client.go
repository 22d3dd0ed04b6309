package agentselect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/driver"
	"parley/internal/stall"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

// client is one party of a scenario: a connection, what it was told, and what it last did.
type client struct {
	name    string
	conn    driver.Conn
	openErr error
	opened  int // number of the record that asked for the connection
	query   string

	id      any // connection id as told; nil before
	offered []vocab.AgentInfo

	session  string   // id of the session that its connection is bound to; "" for none
	deleted  string   // id of the session that it has deleted
	earlier  []string // sessions that it had before
	loaded   bool     // the session was loaded, not created
	given    int      // number of the last record before the session was asked for
	avoid    string   // agent of the session that loading has replaced
	switches int      // confirmed switches of the session
	refusals int      // refused switches since the last confirmed one
	unjudged int      // refused switches since then that no step judges: fences, and attempts while busy
	agent    string   // the agent that the last confirmed switch named

	act     act
	refusal *transcript.Record
	list    *transcript.Record // the agent_list of the connection
	turn    *turn
	turns   []*turn
	chosen  bool // its first agent was named at creation
	wasBusy bool
	aborted bool
	try     *attempt
	fences  map[int]bool // answers of fences, by record number
	probes  []string     // nonces of fences whose answers may come at any time
}

// act is what a client last did that the server answers.
type act struct {
	mark     int
	kind     string
	agent    any // agent id as sent
	named    bool
	stranger bool // sent without a session while another client has one

	elsewhere bool        // it names a session that is not the one of its connection
	missed    *steps.Miss // what was awaited for it, in vain
}

// attempt is what came of loading a session.
type attempt struct {
	session string
	of      *client
	refused string // why; "" when it was accepted
	at      int
}

func (s *suite) client(name string) *client {
	c, ok := s.clients[name]
	if !ok {
		c = &client{name: name, fences: map[int]bool{}}
		s.clients[name] = c
	}
	return c
}

// connect opens a connection and remembers how that went; steps that follow judge it.
func (s *suite) connect(ctx context.Context, c *client, query string) error {
	if c.conn != nil {
		_ = c.conn.Close(driver.Reset)
	}
	c.conn, c.id, c.list, c.offered, c.session, c.query = nil, nil, nil, nil, "", query
	c.opened = s.T.Len() // after the old connection's end
	conn, err := s.Open(ctx, driver.OpenOptions{Party: c.name, URL: s.bind.streamURL(query), Header: s.header()})
	c.openErr = err
	if err != nil {
		var refused *driver.OpenError
		if errors.As(err, &refused) && refused.Status != 0 {
			s.Reached(steps.Opened)
		}
		if steps.Unreachable(err) {
			return &steps.UnreachableError{Err: err}
		}
		return nil
	}
	s.Reached(steps.Opened)
	c.conn = conn
	return nil
}

// connected makes sure that a client has a connection and has been told its agents.
func (s *suite) connected(ctx context.Context, c *client) error {
	if c.conn != nil && c.list != nil {
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
	if _, miss := s.awaitEvent(ctx, c, c.opened, vocab.ConnectedEvent); miss != nil {
		return steps.NotTestedf("client %s was not told that it is connected: %s", c.name, miss.Reason)
	}
	if _, miss := s.awaitEvent(ctx, c, c.opened, vocab.AgentListEvent); miss != nil {
		return steps.NotTestedf("client %s was not told the agents: %s", c.name, miss.Reason)
	}
	return nil
}

// awaitEvent waits for an event of a type on a client's connection, and takes note of what it tells.
func (s *suite) awaitEvent(ctx context.Context, c *client, mark int, kind string) (transcript.Record, *steps.Miss) {
	rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Match: isEvent(kind)})
	if miss == nil {
		s.learn(c, rec)
	}
	return rec, miss
}

// learn keeps what a client is told about its connection.
func (s *suite) learn(c *client, rec transcript.Record) {
	switch rec.Event.Type {
	case vocab.ConnectedEvent:
		c.id, _ = wjson.Lookup(rec.Event.Data, "/connectionId")
	case vocab.AgentListEvent:
		c.list = &rec
		v, _ := wjson.Lookup(rec.Event.Data, "/agents")
		c.offered = agentInfos(v)
	}
}

// agentInfos reads a list of agents leniently: entries that are none are left out.
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

// isEvent matches what the target said, by the protocol's name of the event.
func isEvent(kinds ...string) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		if r.Event == nil || r.Dir != transcript.Received {
			return false
		}
		for _, k := range kinds {
			if r.Event.Type == k {
				return true
			}
		}
		return false
	}
}

// send sends a message as a client's act.
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

// createSession creates a session and binds it to the client's connection. The string says why it was refused.
func (s *suite) createSession(ctx context.Context, c *client, f fields) (string, int, error) {
	return s.openSession(ctx, c, vocab.SessionCreateType, f)
}

func (s *suite) loadSession(ctx context.Context, c *client, id string) (string, int, error) {
	return s.openSession(ctx, c, vocab.SessionLoadType, fields{"sessionId": id})
}

// openSession creates or loads a session over whichever driver runs.
func (s *suite) openSession(ctx context.Context, c *client, kind string, f fields) (refused string, at int, err error) {
	var id string
	asked := s.T.Len()
	if s.bind.ws {
		id, refused, at, err = s.openSessionWS(ctx, c, kind, f)
	} else {
		id, refused, at, err = s.openSessionHTTP(ctx, c, kind, f)
	}
	if err != nil || refused != "" {
		return refused, at, err
	}
	if kind == vocab.SessionLoadType {
		id = f["sessionId"].(string)
	}
	if c.session != "" {
		c.earlier = append(c.earlier, c.session)
		c.avoid = c.agent
	}
	c.given = asked
	c.session, c.loaded, c.switches, c.agent, c.refusals = id, kind == vocab.SessionLoadType, 0, "", 0
	return "", at, nil
}

func (s *suite) openSessionHTTP(ctx context.Context, c *client, kind string, f fields) (id, refused string, at int, err error) {
	mark, err := s.send(ctx, c, kind, f)
	if err != nil {
		return "", "", 0, err
	}
	rec, miss := s.answer(ctx, c, mark)
	if miss != nil {
		return "", "no answer to the request: " + miss.Reason, miss.At, nil
	}
	if why := s.notAccepted(rec); why != "" {
		return "", why, rec.N, nil
	}
	v, _, err := wjson.Decode(rec.Bytes)
	if kind == vocab.SessionLoadType {
		return "", "", rec.N, nil
	}
	if err != nil {
		return "", "the answer is no JSON: " + err.Error(), rec.N, nil
	}
	p := s.Env.Profile.AgentSelect.Fields.Answer.SessionID
	got, _ := look(v, p)
	sid, ok := got.(string)
	if !ok || sid == "" {
		return "", fmt.Sprintf("the answer has no session id (a string) at %s: %s", p, wjson.Compact(v)), rec.N, nil
	}
	return sid, "", rec.N, nil
}

// answer waits for the HTTP answer to a request.
func (s *suite) answer(ctx context.Context, c *client, mark int) (transcript.Record, *steps.Miss) {
	return s.Await(ctx, steps.Wait{
		Conn: c.name, After: mark, Within: s.Env.Profile.Limits.HTTP.Duration,
		Match:    func(r *transcript.Record) bool { return r.Kind == transcript.Response && r.Reply == mark },
		Hopeless: func(r *transcript.Record) string { return failed(r, mark) },
	})
}

// failed tells that a request came to nothing.
func failed(r *transcript.Record, mark int) string {
	if r.Kind == transcript.Failure && r.Reply == mark {
		return r.Label
	}
	return ""
}

// notAccepted says why an HTTP answer is a refusal: it is no 2xx, or its success is false.
func (s *suite) notAccepted(r transcript.Record) string {
	if r.Status < 200 || r.Status > 299 {
		return "HTTP " + r.Label
	}
	v, _, err := wjson.Decode(r.Bytes)
	if err != nil {
		return ""
	}
	if ok, found := look(v, s.Env.Profile.AgentSelect.Fields.Answer.Success); found && ok == false {
		return "success is false"
	}
	return ""
}

func (s *suite) openSessionWS(ctx context.Context, c *client, kind string, f fields) (id, refused string, at int, err error) {
	reqID := fmt.Sprintf("req-%s-%d", s.Nonce, s.Serial())
	g := fields{"requestId": reqID}
	for k, v := range f {
		g[k] = v
	}
	mark, err := s.send(ctx, c, kind, g)
	if err != nil {
		return "", "", 0, err
	}
	done := vocab.SessionCreatedEvent
	if kind == vocab.SessionLoadType {
		done = vocab.SessionLoadedEvent
	}
	rec, miss := s.Await(ctx, steps.Wait{
		Conn: c.name, After: mark, Within: s.Env.Profile.Limits.HTTP.Duration,
		Match: func(r *transcript.Record) bool { return isEvent(done)(r) && bears(r, reqID) },
		Hopeless: func(r *transcript.Record) string {
			if isEvent(vocab.ErrorEvent)(r) && bears(r, reqID) {
				return "refused: " + wjson.Compact(r.Event.Data)
			}
			return ""
		},
	})
	if miss != nil {
		return "", miss.Reason, miss.At, nil
	}
	got, _ := wjson.Lookup(rec.Event.Data, "/sessionId")
	sid, ok := got.(string)
	if !ok || sid == "" {
		return "", done + " has no sessionId: " + wjson.Compact(rec.Event.Data), rec.N, nil
	}
	return sid, "", rec.N, nil
}

// bears tells whether an event answers the request with this id; an error that names no request may be the answer too.
func bears(r *transcript.Record, id string) bool {
	in, _ := wjson.Lookup(r.Event.Data, "/requestId")
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

// mustCreate creates a session as a precondition. A target that cannot tell connections apart may need a moment to notice
// that another one has gone, so there a refusal is tried again until the event limit.
func (s *suite) mustCreate(ctx context.Context, c *client) error {
	deadline := stall.In(s.Limit(s.Env.Event()))
	refused, _, err := s.createSession(ctx, c, nil)
	for pause := 5 * time.Millisecond; s.Env.Profile.AgentSelect.Correlation.Single && err == nil && refused != "" && !deadline.Over(); pause = min(2*pause, 100*time.Millisecond) {
		s.pace(ctx, c, s.T.Len(), pause)
		refused, _, err = s.createSession(ctx, c, nil)
	}
	if err != nil {
		return err
	}
	if refused != "" {
		return steps.NotTestedf("client %s could not create a session: %s", c.name, refused)
	}
	return nil
}

func quoted(v any) string {
	if t, ok := v.(string); ok {
		return fmt.Sprintf("%q", t)
	}
	return strings.TrimSpace(wjson.Compact(v))
}
