package pack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/internal/expression"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

const who = `client (\w+)`

// register registers the general steps, which every pack has, and the phrases of this one.
func (s *suite) register(sc *godog.ScenarioContext) {
	s.registerConnecting(sc)
	s.registerSending(sc)
	s.registerReceiving(sc)
	s.registerRestarting(sc)
	for _, p := range s.doc.phrases {
		s.step(sc, p.expression(), s.handler(p))
	}
}

func (s *suite) registerConnecting(sc *godog.ScenarioContext) {
	s.step(sc, `^`+who+` connects$`, func(ctx context.Context, name string) error {
		return s.connects(ctx, name, nil)
	})
	s.step(sc, `^`+who+` is connected$`, s.isConnected)
	s.step(sc, `^`+who+` reconnects with the id of its last event$`, s.reconnects)
	s.step(sc, `^`+who+` (disconnects|loses its connection)$`, s.leaves)
}

func (s *suite) registerSending(sc *godog.ScenarioContext) {
	const one = `^` + who + ` (sends|gets an answer to) "([\w./-]+)"`
	s.step(sc, one+`$`, func(ctx context.Context, name, how, kind string) error {
		return s.sendsSo(ctx, name, how, kind, nil)
	})
	s.step(sc, one+` with (\{.*\})$`, func(ctx context.Context, name, how, kind, body string) error {
		members, err := objectOf(body)
		if err != nil {
			return err
		}
		return s.sendsSo(ctx, name, how, kind, members)
	})
	s.step(sc, one+` with$`, func(ctx context.Context, name, how, kind string, table *godog.Table) error {
		members, err := membersOf(table)
		if err != nil {
			return err
		}
		return s.sendsSo(ctx, name, how, kind, members)
	})
	s.step(sc, one+` without "([\w-]+)"$`, func(ctx context.Context, name, how, kind, member string) error {
		return s.sendsSo(ctx, name, how, kind, nil, member)
	})
	s.step(sc, `^`+who+` sends "([\w./-]+)" with the header "([\w-]+): (.*)"$`,
		func(ctx context.Context, name, kind, header, value string) error {
			return s.sendsWithHeader(ctx, name, kind, header, &value)
		})
	s.step(sc, `^`+who+` sends "([\w./-]+)" without the header "([\w-]+)"$`,
		func(ctx context.Context, name, kind, header string) error {
			return s.sendsWithHeader(ctx, name, kind, header, nil)
		})
	s.step(sc, `^`+who+` sends "([\w./-]+)" (\d+) times without waiting$`, s.sendsMany)
	s.step(sc, `^`+who+` sends the text (.+)$`, s.sendsText)
	s.step(sc, `^`+who+` keeps (.+) as "(\w+)"$`, s.keepsValue)
}

func (s *suite) registerReceiving(sc *godog.ScenarioContext) {
	s.step(sc, `^`+who+` is answered$`, func(ctx context.Context, name string) error {
		return s.isAnswered(ctx, s.client(name))
	})
	s.step(sc, `^the server owes nothing any more$`, s.owesNothing)
	s.step(sc, `^`+who+` receives "([\w./-]+)"$`, func(ctx context.Context, name, kind string) error {
		return s.receives(ctx, name, kind, "")
	})
	s.step(sc, `^`+who+` receives "([\w./-]+)" where (.+)$`, s.receives)
	s.step(sc, `^`+who+` has received no "([\w./-]+)"$`, func(ctx context.Context, name, kind string) error {
		return s.hasReceivedNone(ctx, name, kind, "")
	})
	s.step(sc, `^`+who+` has received no "([\w./-]+)" where (.+)$`, s.hasReceivedNone)
	s.step(sc, `^`+who+`'s message is answered with status (\d+)$`, s.isAnsweredWith)
	s.step(sc, `^everything is handled$`, s.allHandled)
	s.step(sc, `^the scenario applies to `+who+` where (.+)$`, s.applies)
}

// sendsSo sends a message, and waits for what it is owed if the client gets an answer to it.
func (s *suite) sendsSo(ctx context.Context, name, how, kind string, members map[string]any, without ...string) error {
	if err := s.sends(ctx, name, kind, members, without...); err != nil || how == "sends" {
		return err
	}
	return s.isAnswered(ctx, s.client(name))
}

func (s *suite) leaves(name, how string) error {
	c := s.client(name)
	if c.conn == nil {
		return steps.NotTestedf("client %s has no connection", name)
	}
	mode := driver.Graceful
	if how != "disconnects" {
		mode = driver.Reset
	}
	conn := c.conn
	c.conn = nil
	return conn.Close(mode)
}

// reconnects opens another connection, which says what the last event was (Last-Event-ID, of event streams).
func (s *suite) reconnects(ctx context.Context, name string) error {
	c, last := s.client(name), ""
	for _, r := range s.Between(name, c.begun, 0) {
		if r.Kind == transcript.Stream && r.ID != "" {
			last = r.ID
		}
	}
	if last == "" {
		return steps.NotTestedf("no event of client %s has an id", name)
	}
	return s.connects(ctx, name, http.Header{"Last-Event-Id": {last}})
}

// objectOf reads a JSON object.
func objectOf(text string) (map[string]any, error) {
	v, _, err := wjson.Decode([]byte(text))
	members, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s is not a JSON object", text)
	}
	return members, nil
}

// membersOf reads a table of members and values. A value is JSON; other text stands for itself.
func membersOf(table *godog.Table) (map[string]any, error) {
	out := map[string]any{}
	for _, row := range table.Rows {
		if len(row.Cells) != 2 {
			return nil, fmt.Errorf("the table has %d columns: it needs a member and its value", len(row.Cells))
		}
		out[row.Cells[0].Value] = cellValue(row.Cells[1].Value)
	}
	return out, nil
}

func cellValue(text string) any {
	if v, _, err := wjson.Decode([]byte(text)); err == nil {
		return v
	}
	return text
}

// sendsWithHeader sends a message with a header of another value than usual; nil: without it.
func (s *suite) sendsWithHeader(ctx context.Context, name, kind, header string, value *string) error {
	c := s.client(name)
	m, err := s.message(c, kind, nil)
	switch {
	case err != nil:
		return err
	case s.codec.driver == target.WS:
		return &steps.NotApplicableError{Reason: "over ws a message has no headers"}
	case m.Header == nil:
		m.Header = http.Header{}
	}
	if m.Header.Del(header); value != nil {
		filled, err := fillText(*value, s.finder(c))
		if err != nil {
			return err
		}
		m.Header.Set(header, fmt.Sprint(filled))
	}
	return s.sendMessage(ctx, c, m)
}

func (s *suite) sendsMany(ctx context.Context, name, kind string, n int) error {
	const most = 1000
	if n > most {
		return fmt.Errorf("at most %d", most)
	}
	for range n {
		if err := s.sends(ctx, name, kind, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) sendsText(ctx context.Context, name, text string) error {
	c := s.client(name)
	find := s.finder(c)
	filled, err := fillText(text, find)
	if err != nil {
		return err
	}
	m, err := s.codec.carry("a text", []byte(fmt.Sprint(filled)), find)
	if err != nil {
		return err
	}
	return s.sendMessage(ctx, c, m)
}

// isAnswered waits until nothing is owed any more because of a client's last act.
func (s *suite) isAnswered(ctx context.Context, c *client) error {
	if err := s.there(c); err != nil {
		return err
	}
	return s.awaitOwed(ctx, c)
}

// owesNothing waits until nothing is owed to any client any more.
func (s *suite) owesNothing(ctx context.Context) error {
	waited := false
	for _, name := range slices.Sorted(maps.Keys(s.clients)) {
		c := s.clients[name]
		if c.conn == nil && c.err == nil {
			continue // it has left
		}
		waited = true
		err := s.there(c)
		if err == nil {
			err = s.allAnswered(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	if !waited {
		return steps.NotTestedf("no client has a connection")
	}
	return nil
}

// allAnswered waits until nothing is owed to a client any more, one cause after the other.
func (s *suite) allAnswered(ctx context.Context, c *client) error {
	latest := c.mark
	defer func() { c.mark = latest }()
	for owed := s.owedTo(c, 0); len(owed) > 0; owed = s.owedTo(c, 0) {
		c.mark = owed[0].Cause.r.N
		if err := s.awaitOwed(ctx, c); err != nil {
			return err
		}
	}
	return s.settle(c, latest)
}

// receives waits for a message of a type, and judges those clauses of the scenario of which no rule says anything.
func (s *suite) receives(ctx context.Context, name, kind, where string) error {
	c := s.client(name)
	if err := s.there(c); err != nil {
		return err
	}
	match, err := s.matcher(c, kind, where)
	if err != nil {
		return err
	}
	what := strconv.Quote(kind)
	if where != "" {
		what += " where " + where
	}
	act := c.mark
	r, miss := s.Await(ctx, s.waitFor(c, ofKind(kind), steps.Wait{After: act, Match: match,
		Hopeless: func(r *transcript.Record) string { return cmp.Or(s.hopeless(c, act, kind), s.noneOpen(c, r)) }}))
	s.report()
	left := s.unruled()
	switch {
	case miss == nil && len(left) > 0:
		return s.Judge(verdict.Finding{Clauses: left, OK: true, At: r.N})
	case miss == nil:
		return nil
	case s.hopeless(c, act, kind) != "":
		return s.settle(c, act)
	case len(left) > 0:
		return s.Need(miss.Check(what, left...))
	}
	return s.missing(c, miss, what, ofKind(kind))
}

// ofKind fits what is owed if a message of a type settles it.
func ofKind(kind string) func(*owed) bool {
	return func(o *owed) bool {
		return slices.ContainsFunc(o.About.owes, func(w *owing) bool { return w.is(kind) })
	}
}

// hopeless says why a message of a type that was owed because of a record will not come; "": it may.
func (s *suite) hopeless(c *client, act int, kind string) string {
	what, missing := s.follow().missed(c.name, act, ofKind(kind))
	if missing {
		return what + " is missing: everything that was sent before has been handled"
	}
	return ""
}

// matcher matches messages of a type to a client for which an expression holds.
func (s *suite) matcher(c *client, kind, where string) (func(*transcript.Record) bool, error) {
	if !slices.Contains(s.doc.receives, kind) && !isSpecial(kind) {
		return nil, fmt.Errorf("the protocol has no message %q that servers send: %s", kind,
			strings.Join(s.doc.receives, ", "))
	}
	var e *expression.Expression
	if where != "" {
		filled, err := fillText(where, func(name string) (any, error) {
			v, err := s.finder(c)(name)
			return wjson.Compact(v), err
		})
		if err != nil {
			return nil, err
		}
		if e, err = expression.Compile(fmt.Sprint(filled), s.doc.names(), s.doc.stateMembers); err != nil {
			if strings.Contains(where, `"${`) {
				err = fmt.Errorf("%w (a hole is filled in with its quotes: write ${name} alone)", err)
			}
			return nil, err
		}
	}
	return func(r *transcript.Record) bool {
		s.followTo(r.N)
		return slices.ContainsFunc(s.doc.messages(*r), func(m *message) bool {
			return m.from == "server" && m.kind == kind && e.Holds(s.model.scopeOf(m))
		})
	}, nil
}

// unruled lists the clauses of the scenario of which no rule of the document says anything: its steps judge them.
func (s *suite) unruled() (out []string) {
	for _, id := range s.doc.stepClauses {
		if s.Judges(id) {
			out = append(out, id)
		}
	}
	return out
}

// hasReceivedNone proves by a fence that no such message came since the client's connection.
func (s *suite) hasReceivedNone(ctx context.Context, name, kind, where string) error {
	c := s.client(name)
	if err := s.there(c); err != nil {
		return err
	}
	match, err := s.matcher(c, kind, where)
	if err != nil {
		return err
	}
	if err := s.allHandled(ctx); err != nil {
		return err
	}
	left := s.unruled()
	for _, r := range s.Between(name, c.begun, 0) {
		if match(&r) && len(left) > 0 {
			return s.Judge(steps.CheckOf(r, false, fmt.Sprintf("no %q", kind), left...))
		}
	}
	if len(left) == 0 {
		return nil
	}
	return s.Judge(verdict.Finding{Clauses: left, OK: true, At: s.T.Len()})
}

func (s *suite) isAnsweredWith(ctx context.Context, name string, status int) error {
	c := s.client(name)
	if s.codec.driver == target.WS || s.codec.driver == target.Stdio {
		return &steps.NotApplicableError{Reason: "over " + s.codec.driver + " a message has no HTTP answer"}
	}
	if err := s.there(c); err != nil {
		return err
	}
	r, miss := s.answered(ctx, c)
	s.follow()
	if miss != nil {
		return s.missing(c, miss, "an HTTP answer", answerTo(c.mark))
	}
	if left := s.unruled(); len(left) > 0 {
		return s.Judge(steps.CheckOf(r, r.Status == status, fmt.Sprintf("status %d", status), left...))
	}
	if r.Status != status { // the rules judge it, and what follows rests on it
		return steps.NotTestedf("the message of client %s is answered with status %d, not %d", name, r.Status, status)
	}
	return nil
}

// allHandled fences every client: everything that was sent to it before has come. Two rounds show that, too, of what
// one client's messages cause at another.
func (s *suite) allHandled(ctx context.Context) error {
	if s.doc.fence == nil {
		return steps.NotTestedf("the protocol has no fence, so that an absence cannot be proved")
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.clients)), func(name string) bool {
		return s.clients[name].conn == nil
	})
	if len(names) == 0 {
		return steps.NotTestedf("no client has a connection")
	}
	for round := range min(len(names), 2) {
		for _, name := range names {
			c := s.clients[name]
			after := s.T.Len()
			is := s.fence(c)(ctx)
			if is == nil {
				return steps.NotTestedf("client %s cannot send %s", name, s.doc.fence.send)
			}
			if _, miss := s.Await(ctx, steps.Wait{Conn: name, After: after, Proof: true, Match: is}); miss != nil {
				return steps.NotTestedf("%s of client %s is not answered, so that an absence is not proved (round %d): %s",
					s.doc.fence.send, name, round+1, miss.Reason)
			}
		}
	}
	s.follow()
	return nil
}

// names are what expressions know in steps.
func (d *document) names() []string {
	out := slices.Clone(scopeNames)
	for _, b := range d.bags {
		out = append(out, b.name)
	}
	return out
}
