package pack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/expression"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// suite is the part of a pack in one scenario.
type suite struct {
	*steps.World
	doc     *document
	codec   codec
	clients map[string]*client
	model   *model
	seen    int // the last record that the model has taken
	known   []definition
	nested  int // phrases in phrases, while they run
}

// client is a party that the harness plays.
type client struct {
	name  string
	conn  driver.Conn
	err   error // why it could not connect
	begun int   // the record before its connection
	mark  int   // the record of its latest message
	last  string
	kept  map[string]any
	asked bool // the request before its first connection
}

func (s *suite) client(name string) *client {
	if s.clients[name] == nil {
		s.clients[name] = &client{name: name, kept: map[string]any{}}
	}
	return s.clients[name]
}

// follow lets the model take the records that have come, and the clients keep what the document says.
func (s *suite) follow() *model {
	for _, r := range transcript.Judged(s.T.After(s.seen)) {
		s.take(r)
	}
	return s.model
}

// followTo is follow up to a record, for a wait: also what has come to other clients meanwhile.
func (s *suite) followTo(n int) {
	if n <= s.seen {
		return
	}
	for _, r := range transcript.Judged(s.T.Page(s.seen, n-s.seen)) {
		s.take(r)
	}
}

func (s *suite) take(r transcript.Record) {
	s.seen = r.N
	s.model.Take(r)
	for _, m := range s.doc.messages(r) {
		if m.from == "server" {
			s.keep(m)
		}
	}
}

// keep notes what a message of the server shows, and what its client keeps of it.
func (s *suite) keep(m *message) {
	for i, of := range s.doc.reached {
		if slices.Contains(of, m.kind) {
			s.RecordReach(steps.Greeted + steps.Reach(i))
		}
	}
	s.doc.keep(m, s.model.scopeOf(m), s.client(m.r.Conn).kept)
}

// keep notes what a client keeps of a message.
func (d *document) keep(m *message, in expression.Scope, kept map[string]any) {
	for _, k := range d.keeps {
		if !k.on.selects(m, in) {
			continue
		}
		if v, err := k.value.Value(in); err == nil && v != nil {
			kept[k.name] = v
		}
	}
}

// finder returns what fills the holes of a client's message: ${new}, ${nonce}, what the client has kept, and ${B.name},
// what another has.
func (s *suite) finder(c *client) func(string) (any, error) {
	return func(name string) (any, error) {
		switch name {
		case "new":
			return fmt.Sprintf("%s-%d", s.Nonce, s.Serial()), nil
		case "nonce":
			return s.Nonce, nil
		}
		of, member := c, name
		if party, rest, ok := strings.Cut(name, "."); ok {
			of, member = s.client(party), rest
		}
		if v, ok := of.kept[member]; ok {
			return v, nil
		}
		return nil, steps.NotTestedf("client %s has no %s", of.name, member)
	}
}

// connects opens the connection of a client.
func (s *suite) connects(ctx context.Context, name string, header map[string][]string) error {
	c := s.client(name)
	c.begun = s.T.Len()
	h := s.Env.Profile.Header()
	maps.Copy(h, header)
	if err := s.asksBefore(ctx, c); err != nil {
		return err
	}
	o, err := s.codec.opening(driver.OpenOptions{Party: name, Header: h, Reads: s.doc.post.reads}, s.Target, s.finder(c))
	if err != nil {
		return err
	}
	c.conn, c.err = s.Open(ctx, o)
	if steps.Unreachable(c.err) {
		return &steps.UnreachableError{Err: c.err}
	}
	c.mark, c.last = c.begun, ""
	if c.err == nil {
		s.RecordReach(steps.Opened)
	}
	return nil
}

// isConnected connects a client, and waits for what every client receives first.
func (s *suite) isConnected(ctx context.Context, name string) error {
	if err := s.connects(ctx, name, nil); err != nil {
		return err
	}
	c := s.client(name)
	if c.err != nil {
		return s.notOpened(c)
	}
	if at := s.opening(c); at == 0 || !s.follow().caused[at] { // nothing is sent to every client
		return nil
	}
	return s.awaitOwed(ctx, c)
}

// notOpened judges that a client could not connect: by the rules about connecting, and as the reason why nothing else
// can be tested.
func (s *suite) notOpened(c *client) error {
	var clauses []string
	for _, r := range s.doc.rules {
		if slices.Contains(r.on.types, connecting) {
			clauses = append(clauses, r.clauses...)
		}
	}
	return s.Need(verdict.Finding{Clauses: clauses, Expected: "a connection", Observed: c.err.Error(), At: s.T.Len(),
		Miss: steps.NotOpened(c.err)})
}

// sends sends a message of a type, with members in place of, or besides, those of its template.
func (s *suite) sends(ctx context.Context, name, kind string, members map[string]any, without ...string) error {
	c := s.client(name)
	m, err := s.message(c, kind, members, without...)
	if err != nil {
		return err
	}
	return s.sendMessage(ctx, c, m)
}

// message makes a message of a type.
func (s *suite) message(c *client, kind string, members map[string]any, without ...string) (driver.Message, error) {
	template, known := s.doc.sends[kind].(map[string]any)
	if _, there := s.doc.sends[kind]; !there {
		return driver.Message{}, fmt.Errorf("the protocol has no message %q that clients send: %s", kind,
			strings.Join(slices.Sorted(maps.Keys(s.doc.sends)), ", "))
	}
	body := map[string]any{}
	if known {
		maps.Copy(body, template)
	}
	maps.Copy(body, members)
	for _, name := range without {
		delete(body, name)
	}
	find := s.finder(c)
	filled, err := fill(body, find)
	if err != nil {
		return driver.Message{}, err
	}
	return s.codec.encode(kind, filled.(map[string]any), find)
}

// sendMessage sends bytes. Over HTTP it waits for the answer, so that the server receives the next message after this
// one.
func (s *suite) sendMessage(ctx context.Context, c *client, m driver.Message) error {
	if c.conn == nil {
		return steps.NotTestedf("client %s has no connection", c.name)
	}
	mark, err := c.conn.Send(ctx, m)
	if err != nil {
		return steps.NotTestedf("client %s cannot send %s: %v", c.name, m.Label, err)
	}
	c.mark, c.last = mark, m.Label
	if m.URL == "" || s.codec.driver == target.Post {
		return nil
	}
	if _, miss := s.answered(ctx, c); miss != nil {
		return s.missing(c, miss, "an HTTP answer", answerTo(mark))
	}
	return nil
}

// answerTo fits the HTTP answer that is owed to a request.
func answerTo(act int) func(*owed) bool {
	return func(o *owed) bool {
		return o.Cause.r.N == act && slices.ContainsFunc(o.About.owes, func(w *owing) bool { return w.is(answer) })
	}
}

// there reports, as an error, that a client has no connection: by the rules about connecting if it was refused.
func (s *suite) there(c *client) error {
	switch {
	case c.err != nil:
		return s.notOpened(c)
	case c.conn == nil:
		return steps.NotTestedf("client %s has no connection", c.name)
	}
	return nil
}

// answered waits for the HTTP answer to a client's latest request.
func (s *suite) answered(ctx context.Context, c *client) (transcript.Record, *verdict.Miss) {
	return s.Await(ctx, steps.Wait{Conn: c.name, After: c.mark, Within: s.Env.Profile.Limits.HTTP.Duration,
		Match: func(r *transcript.Record) bool { return r.Kind == transcript.Response && r.Reply == c.mark },
		Hopeless: func(r *transcript.Record) string {
			if r.Kind == transcript.Failure && r.Reply == c.mark {
				return r.Label
			}
			return ""
		}})
}

// owedTo lists what is owed because of a record on a client's connection; act 0: because of any.
func (s *suite) owedTo(c *client, act int) []*owed { return s.follow().owed(c.name, act) }

// report judges what the model has found and the scenario has not heard of yet.
func (s *suite) report() {
	for _, conn := range s.follow().order {
		for _, f := range s.model.books[conn].Fresh(s.T.Len()) {
			if f.Follows {
				continue // the monitor reports it under the finding that it follows from
			}
			f.Model, f.Judge = "", verdict.ByModel
			_ = s.Judge(f)
		}
	}
}

// settle reports what the model has found, and ends the scenario if something that was owed because of a record is
// missing.
func (s *suite) settle(c *client, act int) error {
	s.report()
	if what, is := s.model.missed(c.name, act, nil); is {
		return steps.NotTestedf("%s is missing", what)
	}
	return nil
}

// missing ends the scenario because of a wait in vain: what fits and is owed is judged, and without it nothing is.
func (s *suite) missing(c *client, miss *verdict.Miss, what string, fits func(*owed) bool) error {
	var clauses []string
	for _, o := range s.owedTo(c, 0) {
		if fits(o) {
			clauses, what = append(clauses, o.Clauses...), o.What
		}
	}
	slices.Sort(clauses)
	if clauses = slices.Compact(clauses); len(clauses) == 0 {
		return steps.NotTestedf("%s has not come, and no rule says that it must: %s", what, miss.Reason)
	}
	f := miss.Check(what, clauses...)
	f.Judge = verdict.ByModel
	if err := s.Need(f); err != nil {
		return err
	}
	return steps.NotTestedf("%s has not come: %s", what, miss.Reason)
}

// fence sends the request whose answer shows that everything before it has been handled; nil if there is none.
func (s *suite) fence(c *client) func(context.Context) func(*transcript.Record) bool {
	f := s.doc.fence
	if f == nil || c.conn == nil {
		return nil
	}
	return func(ctx context.Context) func(*transcript.Record) bool {
		find := s.finder(c)
		m, body, err := s.codec.filled(f.send, find)
		if err != nil {
			return nil
		}
		if _, err := c.conn.Send(ctx, m); err != nil {
			return nil
		}
		return func(r *transcript.Record) bool {
			return slices.ContainsFunc(s.doc.messages(*r), func(p *message) bool {
				in := scopeOf(p)
				in["act"] = expression.Plain(body)
				return p.from == "server" && p.kind == f.answer && f.where.Holds(in)
			})
		}
	}
}

// awaitOwed waits until nothing is owed any more because of a client's latest act.
func (s *suite) awaitOwed(ctx context.Context, c *client) error {
	act := c.mark
	if c.last == "" {
		act = s.opening(c)
	}
	switch {
	case act == 0 || !s.follow().caused[act]:
		return steps.NotTestedf("no rule says what the server owes client %s because of its last act", c.name)
	case len(s.owedTo(c, act)) == 0:
		return s.settle(c, act)
	}
	because := func(o *owed) bool { return o.Cause.r.N == act }
	_, miss := s.Await(ctx, s.waitFor(c, because, steps.Wait{After: act, Match: func(r *transcript.Record) bool {
		s.followTo(r.N)
		return len(s.owedTo(c, act)) == 0
	}, Hopeless: func(r *transcript.Record) string { return s.noneOpen(c, r) }}))
	if s.follow(); miss != nil {
		return s.missing(c, miss, "what is owed", because)
	}
	return s.settle(c, act)
}

// waitFor completes a wait on a client's connection for what fits and is owed: within the longest of its limits, and
// with a fence if that proves anything of all of it.
func (s *suite) waitFor(c *client, fits func(*owed) bool, w steps.Wait) steps.Wait {
	w.Conn, w.Greeting = c.name, c.last == ""
	fenced := false
	l := &s.Env.Profile.Limits
	limits := map[string]time.Duration{"turn": l.Turn.Duration, "http": l.HTTP.Duration, "connect": l.Open.Duration}
	for _, o := range s.owedTo(c, 0) {
		if fits(o) {
			w.Within, fenced = max(w.Within, limits[o.About.within], o.About.lasts), true
		}
	}
	for _, o := range s.owedTo(c, 0) {
		fenced = fenced && !(fits(o) && o.Unfenced)
	}
	if fenced && !w.Greeting {
		w.Fence = s.fence(c)
	}
	return w
}

// opening returns the record that requested a client's connection.
func (s *suite) opening(c *client) int {
	if c.conn == nil {
		return 0
	}
	for _, r := range s.T.After(c.begun) {
		if r.Conn == c.name && r.Kind == transcript.Open && r.Dir == transcript.Sent {
			return r.N
		}
	}
	return 0
}
