package agentselect

import (
	"context"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/deadline"
	"parley/internal/recent"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// A server may send an event twice: it writes to a client that is registered twice, or resends what it considers
// lost. The copy may come after the client's next message, and answers nothing there. Copies are distinguished from
// answers by counting: an event equal to an earlier one of its connection is a repeat (Event.Again) if every message it
// could answer is already answered. Two refusals of two messages may be equal, and so may two switches to one agent.
//
// A repeat never ends a wait for an answer while a better one may come. It is exempt from what a client must not
// receive only if the target has been seen to repeat events of that type by itself, with no message in between: an
// event that comes again because of a message is not a repeat.

// repeats counts the events on the connections of a scenario.
type repeats struct {
	env   *steps.Env
	conns recent.Conns[*counted]
	named recent.Map[string, int] // switches that name a session, by agent id: they may be answered on any connection

	last  int          // the latest record
	again map[int]bool // the records of repeats
}

// counted holds the events of one connection, and the messages that they may answer.
type counted struct {
	came  map[uint64]int // how often, without repeats
	last  map[uint64]int // messages sent when it last came
	first map[uint64]stamped
	acts  []time.Duration // when the messages were sent
	stamp any             // the timestamp of the last event
	exact bool            // timestamps differ
	done  int             // answers to switches, without repeats
	sent  int
	asked asked
	chats int
	lists int // agent_list events, repeats included
	noted int // records
}

// asked counts switches by their agent id; "" for non-strings.
type asked map[string]int

// count returns how many have an id that matches.
func (a asked) count(match func(id string) bool) (n int) {
	for id, times := range a {
		if match(id) {
			n += times
		}
	}
	return n
}

func (a asked) all() int { return a.count(func(string) bool { return true }) }

// maxNamed is how many agents that were asked for in a named session are known at least: more than a scenario asks for.
const maxNamed = 1024

var repeatSeed = maphash.MakeSeed()

func newCounted() *counted {
	return &counted{came: map[uint64]int{}, last: map[uint64]int{}, first: map[uint64]stamped{}, asked: asked{}}
}

// note counts a record, and marks it if it is a repeat. It must be called for all records in order; for one that it has
// counted, which is decoded again when it is read back from a file, it marks what it marked then.
func (s *repeats) note(r *transcript.Record) {
	if r.N > 0 && r.N <= s.last {
		if s.again[r.N] && r.Event != nil {
			r.Event.Again = true
		}
		return
	}
	s.last = r.N
	c, _ := s.conns.Get(r.Conn)
	if c == nil || r.Kind == transcript.Open && r.Dir == transcript.Sent {
		if c = newCounted(); r.Conn != "" { // else nothing comes on it
			s.conns.Set(r.Conn, c)
		}
	}
	switch c.noted++; {
	case c.noted > transcript.MaxRecords: // monitors see no more of it
		s.conns.Set(r.Conn, &counted{noted: c.noted})
	case r.Dir == transcript.Sent:
		s.noteSent(c, r)
	case r.Dir == transcript.Received && r.Event != nil && !r.Late:
		s.noteReceived(c, r)
	}
	if refused := r.Kind == transcript.Failure || r.Status >= 400; r.Kind == transcript.Closed ||
		refused && c.sent <= 1 && len(c.came) == 0 { // else the message was refused, not the connection
		s.conns.End(r.Conn)
	}
}

func (s *repeats) noteSent(c *counted, r *transcript.Record) {
	c.sent++
	c.acts = append(c.acts, r.At)
	switch {
	case r.Event == nil:
	case r.Event.Type == vocab.SwitchAgentType:
		id := field(*r, vocab.AgentID)
		text, _ := id.(string)
		if _, named := wjson.Lookup(r.Event.Data, "/"+vocab.SessionID); named {
			n, _ := s.named.Get(text)
			s.named.Most = maxNamed
			s.named.Set(text, n+1)
		}
		c.asked[text]++
	case r.Event.Type == vocab.ChatType:
		c.chats++
	}
}

func (s *repeats) noteReceived(c *counted, r *transcript.Record) {
	if r.Event.Type == vocab.AgentListEvent {
		c.lists++
	}
	c.exact = c.exact || c.stamp != nil && !wjson.Equal(c.stamp, r.Event.Timestamp)
	c.stamp = r.Event.Timestamp
	answers := s.canAnswer(c, r.Event)
	if answers == 0 {
		return
	}
	key := maphash.String(repeatSeed, r.Event.Type+"\n"+wjson.Compact(r.Event.Data))
	since, before := c.last[key]
	c.last[key] = c.sent
	copied := before && answers != greeting && c.copies(key, r)
	if !before || answers != greeting && c.came[key] < answers && !copied {
		c.came[key]++
		c.first[key] = stamped{time: r.Event.Timestamp, at: r.At, due: c.asked.all() - c.done}
		if r.Event.Type == vocab.AgentSwitchedEvent || r.Event.Type == vocab.ErrorEvent {
			c.done++
		}
		return
	}
	r.Event.Again = true
	if s.again == nil || len(s.again) > transcript.MaxRecords {
		s.again = map[int]bool{}
	}
	s.again[r.N] = true
	if since == c.sent || answers == greeting || copied {
		s.env.Learnt.Store(repeated(r.Event.Type), true)
	}
	if isRepeated(s.env, r.Event.Type) {
		s.env.CameAgain(r.Event.Type, steps.Seen(*r))
	}
}

// stamped is the last one of equal events that was not a repeat.
type stamped struct {
	time any // its timestamp; nil if it has none
	at   time.Duration
	due  int // how many switches were not answered before
}

// apart is the minimum time from an event to a message whose answer cannot have the event's timestamp: several
// milliseconds.
const apart = 5 * time.Millisecond

// copies reports whether an event has the timestamp of an equal one that answered the only open switch, and was
// therefore made before any message that was sent since.
func (c *counted) copies(key uint64, r *transcript.Record) bool {
	was := c.first[key]
	if !c.exact || !fine(was.time) || !wjson.Equal(was.time, r.Event.Timestamp) || was.due > 1 {
		return false
	}
	i := slices.IndexFunc(c.acts, func(at time.Duration) bool { return at > was.at })
	return i < 0 || c.acts[i]-was.at >= apart
}

// fraction matches the milliseconds of a time.
var fraction = regexp.MustCompile(`:\d\d[.,](\d{3})`)

// fine reports whether a timestamp has milliseconds: as a fraction in a text, or since 1970 in a number. A number with
// three final zeros may be a time in seconds.
func fine(timestamp any) bool {
	if text, ok := timestamp.(string); ok {
		found := fraction.FindStringSubmatch(text)
		return found != nil && found[1] != "000"
	}
	n, err := strconv.ParseFloat(wjson.Compact(timestamp), 64)
	return err == nil && n > 1e12 && int64(n)%1000 != 0
}

// greeting is returned by canAnswer for an event that greets a connection: it answers no message.
const greeting = -1

// canAnswer returns how often an event may come at most: once for each message that it may answer; 0 if unknown.
func (s *repeats) canAnswer(c *counted, ev *transcript.Event) int {
	switch ev.Type {
	case vocab.ConnectedEvent:
		return greeting
	case vocab.AgentListEvent:
		if c.lists <= 2 && isRepeated(s.env, vocab.ConnectedEvent) { // it repeats its whole greeting then
			return greeting
		}
	case vocab.CompleteEvent:
		return c.chats
	case vocab.AgentSwitchedEvent:
		current, _ := wjson.Lookup(ev.Data, "/"+vocab.CurrentAgentID)
		id, is := current.(string)
		if !is {
			return 0
		}
		n, _ := s.named.Get(id)
		return max(c.asked[id], n)
	case vocab.ErrorEvent:
		return c.canRefuse(ev)
	}
	return 0
}

// canRefuse is canAnswer for an error.
func (c *counted) canRefuse(ev *transcript.Event) int {
	switch code := codeOf(transcript.Record{Event: ev}); code {
	case vocab.InvalidAgentID:
		return c.asked.count(blank)
	case vocab.InvalidAgentIDFormat: // for white space and non-strings, either code is correct
		return c.asked.count(func(id string) bool { return !vocab.IDPattern.MatchString(id) })
	case vocab.AgentNotFound:
		said, _ := wjson.Lookup(ev.Data, "/"+vocab.Message)
		text, _ := said.(string)
		if n := c.asked.count(func(id string) bool { return id != "" && strings.Contains(text, id) }); n > 0 {
			return n
		}
		return c.asked.all()
	case "":
		return 0
	}
	return c.asked.all()
}

func blank(id string) bool { return strings.TrimSpace(id) == "" }

// repeated is the key that records that the target repeats events of a type by itself.
type repeated string

// once is the key that records that a wait for a repeat of a type was in vain.
type once string

func isRepeated(env *steps.Env, kind string) bool {
	_, yes := env.Learnt.Load(repeated(kind))
	return yes
}

// again matches repeats.
func (s *suite) again(r *transcript.Record) bool {
	return r.Event != nil && r.Event.Again && isRepeated(s.Env, r.Event.Type)
}

// isNew matches events of the given types, except repeats.
func (s *suite) isNew(kinds ...string) match {
	is := isEvent(kinds...)
	return func(r *transcript.Record) bool { return is(r) && !s.again(r) }
}

// repeats reports whether a target is known to repeat events of a type, or is expected to because it repeats others.
func (s *suite) repeats(kind string) bool {
	if _, never := s.Env.Learnt.Load(once(kind)); never {
		return false
	}
	return isRepeated(s.Env, kind) || isRepeated(s.Env, vocab.AgentSwitchedEvent) && isRepeated(s.Env, vocab.ErrorEvent)
}

// letRepeat waits for the repeat of an answer before the next message is sent, if the target is known to repeat:
// otherwise two equal refusals could not be distinguished.
func (s *suite) letRepeat(ctx context.Context, c *client, rec transcript.Record) {
	if !s.repeats(rec.Event.Type) || c.repeated[rec.N] {
		return
	}
	c.repeated[rec.N] = true
	if !s.comesAgain(ctx, c, rec) && !isRepeated(s.Env, rec.Event.Type) {
		s.Env.Learnt.Store(once(rec.Event.Type), true)
	}
}

// comesAgain waits for an equal event, up to the quiet window.
func (s *suite) comesAgain(ctx context.Context, c *client, rec transcript.Record) bool {
	ctx, cancel := deadline.WithLimit(ctx, s.Env.Profile.Limits.Quiet.Duration)
	defer cancel()
	_, err := s.T.Await(ctx, rec.N, func(r *transcript.Record) bool {
		same := isEvent(rec.Event.Type)(r) && wjson.Equal(r.Event.Data, rec.Event.Data)
		return r.Conn == c.name && (same || r.Kind == transcript.Closed)
	})
	return err == nil
}

// findsRepeats checks, once per run and before scenarios run concurrently, whether switches or refusals are sent
// twice.
func (s *suite) findsRepeats(ctx context.Context, c *client) {
	switched, miss := s.outcome(ctx, c, confirmation)
	if !s.HasTag("@preflight-3") || miss != nil {
		return
	}
	s.comesAgain(ctx, c, switched)
	mark, nonce, err := s.sendFence(ctx, c)
	if err != nil {
		return
	}
	limited, cancel := deadline.WithLimit(ctx, s.Env.Profile.Limits.Quiet.Duration)
	defer cancel()
	rec, err := s.T.Await(limited, mark, func(r *transcript.Record) bool {
		return r.Conn == c.name && s.isNew(vocab.ErrorEvent)(r)
	})
	if err == nil && names(&rec, nonce) {
		s.comesAgain(ctx, c, rec)
	}
}

// sendFence sends a switch to an agent that cannot exist.
func (s *suite) sendFence(ctx context.Context, c *client) (mark int, nonce string, err error) {
	nonce = fmt.Sprintf("fence-%s-%d", s.Nonce, s.Serial())
	f := fields{vocab.AgentID: nonce}
	if binding.Of(s.Env.Profile).Correlation.Single && c.session != "" {
		f[vocab.SessionID] = c.session
	}
	mark, err = s.send(ctx, c, vocab.SwitchAgentType, f)
	return mark, nonce, err
}
