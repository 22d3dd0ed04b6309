package agentselect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/model"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// receivesNoList reports whether a client's act has brought an agent_list (AS-023, AS-024, AS-026). A target may send
// one with a session, which is another clause's matter, and send it late: a second act then shows whether each act
// brings one.
func (s *suite) receivesNoList(ctx context.Context, c *client) error {
	mark := s.mark
	err := s.receivesNone(ctx, c)
	if at := s.model(s.T.Len()).Excused(c.name); err == nil && at > mark {
		s.Note("a list that came with the session, too late: record %d", at)
		if err = s.actsAgain(ctx, c); err == nil {
			err = s.receivesNone(ctx, c)
		}
	}
	return err
}

// actsAgain repeats the last act of a client: another switch, which has to succeed, or the same message again.
func (s *suite) actsAgain(ctx context.Context, c *client) error {
	switch c.act.kind {
	case vocab.SwitchAgentType:
	case vocab.ChatType:
		return s.hasChatted(ctx, c)
	default:
		return s.sendsType(ctx, c, c.act.kind)
	}
	for _, a := range c.offered {
		if a.ID != c.agent {
			return s.hasSwitched(ctx, c, agentID{a.ID})
		}
	}
	return steps.NotTestedf("client %s was offered no second agent", c.name)
}

func (r registry) configuration() {
	r.step(`^the target has a custom agent$`, func() error { _, err := r.custom(); return err })
	r.step(`^the configuration of the target is read$`, r.configRead)
	r.step(`^the configuration of the target is unchanged$`, r.configUnchanged)
	r.step(`^the agent "([^"]*)" is added to the configuration$`, r.adds)
	r.step(`^the agent "([^"]*)" has been added to the configuration$`, r.hasAdded)
	r.step(`^the agent "([^"]*)" is renamed in the configuration$`, r.renames)
	r.step(`^the agent "([^"]*)" is removed from the configuration$`, r.removes)
	r.step(`^a new client is (offered|not offered) "([^"]*)"( under its new name)?$`, r.newClientSees)
	r.step(`^client (\w+) is offered "([^"]*)"$`, r.isOffered)
}

// notDeclared turns a missing or failed hook into "not tested".
func notDeclared(err error) error {
	var nd *target.NotDeclaredError
	if errors.As(err, &nd) {
		return steps.NotTestedf("%v", err)
	}
	if err != nil {
		return steps.NotTestedf("hook: %v", err)
	}
	return nil
}

func (s *suite) configRead() error {
	b, err := s.Target.ConfigBytes()
	if err != nil {
		return notDeclared(err)
	}
	s.config = append([]byte{}, b...)
	return nil
}

// configUnchanged judges that switching left the configuration unchanged, byte by byte (AS-025).
func (s *suite) configUnchanged() error {
	if s.config == nil {
		return steps.NotTestedf("the configuration was not read before")
	}
	b, err := s.Target.ConfigBytes()
	if err != nil {
		return notDeclared(err)
	}
	return s.Judge(verdict.Finding{Clauses: []string{"AS-025"}, OK: bytes.Equal(b, s.config), At: s.T.Len(),
		Expected: fmt.Sprintf("the configuration unchanged, %d bytes", len(s.config)),
		Observed: fmt.Sprintf("it has changed: %d bytes", len(b)), Judge: verdict.ByLog})
}

// hook changes the target's configuration; absence is judged from here.
func (s *suite) hook(ctx context.Context, name string, a target.CustomAgent) error {
	s.mark, s.actor, s.configured = s.T.Len(), nil, true
	s.T.Remark("", "hook %s: %s %q", name, a.ID, a.Name)
	return notDeclared(s.Target.Hook(ctx, name, a))
}

func (s *suite) adds(ctx context.Context, id string) error {
	a := target.CustomAgent{ID: id, Name: "Parley " + id, Description: "made by a conformance test",
		Prompt: "PARLEY-" + s.Nonce}
	if c, err := s.custom(); err == nil {
		a.Tools = c.Tools
	}
	if err := s.hook(ctx, target.HookAddAgent, a); err != nil {
		return err
	}
	s.gained[id] = a
	s.AtEnd(func() {
		if _, still := s.gained[id]; still {
			_ = s.Target.Hook(context.WithoutCancel(ctx), target.HookRemoveAgent, a)
		}
	})
	return nil
}

// hasAdded is adds as a precondition: it waits until new clients see the agent.
func (s *suite) hasAdded(ctx context.Context, id string) error {
	if err := s.adds(ctx, id); err != nil {
		return err
	}
	within, ok, err := s.awaitList(ctx, func(list []vocab.AgentInfo) bool { return hasAgent(list, id) })
	if err != nil {
		return err
	}
	if !ok {
		return steps.NotTestedf("after the hook %s, new clients did not see %q within %v", target.HookAddAgent, id, within)
	}
	return nil
}

func (s *suite) renames(ctx context.Context, id string) error {
	a := s.gained[id]
	a.Name = "Renamed " + id
	s.gained[id] = a
	return s.hook(ctx, target.HookChangeAgent, a)
}

func (s *suite) removes(ctx context.Context, id string) error {
	a := s.gained[id]
	if err := s.hook(ctx, target.HookRemoveAgent, a); err != nil {
		return err
	}
	delete(s.gained, id)
	return nil
}

// newClientSees reports whether a connection made after the change sees it (AS-027); the target may take until the
// reload limit.
func (s *suite) newClientSees(ctx context.Context, how, id, renamed string) error {
	if !s.configured {
		return steps.NotTestedf("the configuration was not changed")
	}
	within, ok, err := s.awaitList(ctx, func(list []vocab.AgentInfo) bool {
		a, listed := find(list, id)
		return listed == (how == "offered") && (renamed == "" || a.Name == s.gained[id].Name)
	})
	if err != nil {
		return err
	}
	var miss *verdict.Miss
	if !ok {
		miss = &verdict.Miss{Reason: fmt.Sprintf("not within %v", within)}
	}
	return s.waited(s.client("new"), model.Changed, transcript.Record{N: s.T.Len()}, miss)
}

// awaitList reconnects until the list is as wanted, or the reload limit has passed, which is shorter once lists have
// never been as wanted.
func (s *suite) awaitList(
	ctx context.Context, want func([]vocab.AgentInfo) bool,
) (within time.Duration, ok bool, err error) {
	c, mark, actor := s.client("new"), s.mark, s.actor
	defer func() {
		s.mark, s.actor = mark, actor
		_ = s.hasDisconnected(ctx, c) // no extra connection for a target that cannot tell connections apart
	}()
	limit := s.Env.Profile.Limits.Reload.Duration
	try := s.TryFor("a list with the change of a hook", limit, limit)
	s.retry(ctx, c, try.Within, func() (again bool) {
		if err = s.connect(ctx, c, ""); err == nil {
			err = s.connected(ctx, c)
		}
		ok = err == nil && want(c.offered)
		return err == nil && !ok
	})
	if err == nil && ctx.Err() == nil {
		try.Over(ok)
	}
	return try.Within, ok, err
}

func (s *suite) isOffered(ctx context.Context, c *client, id string) error {
	rec, err := s.greets(ctx, c, vocab.AgentListEvent, "AS-027")
	if err != nil {
		return err
	}
	return s.isAsTold(rec, hasAgent(c.offered, id), "a list with "+id)
}

// maxStreams bounds the streams that Correlate remembers, and endedKept those of them that have ended: a request may
// come late.
const (
	maxStreams = 10_000
	endedKept  = 256
)

// Correlate implements steps.Correlator: a request names the connection id of its stream. One that does not, such as
// that of a page whose profile is not known, belongs to the only stream that it can belong to, if there is one.
func (Protocol) Correlate(p *target.Profile) func(*transcript.Record, http.Header) string {
	k := &correlation{codec: newCodec(p, "", target.SSE), given: map[string]string{}, ids: map[string]string{},
		sessions: map[string]map[string]bool{}, named: map[string][]string{}, open: map[string]bool{}}
	return func(r *transcript.Record, h http.Header) string {
		switch {
		case r.Kind == transcript.Open && r.Dir == transcript.Received && r.Conn != "":
			k.open[r.Conn] = true
		case r.Kind == transcript.Closed:
			k.forget(r.Conn)
		case r.Kind == transcript.Stream && r.Event != nil:
			k.learn(r)
		case r.Kind == transcript.Request:
			return cmp.Or(k.partyOf(r, h), k.onlyParty(r, h))
		}
		return ""
	}
}

// correlation is what the streams have shown so far.
type correlation struct {
	*codec
	given    map[string]string          // connection id → party
	ids      map[string]string          // the reverse
	sessions map[string]map[string]bool // session id → parties whose streams have named it
	named    map[string][]string        // the reverse
	open     map[string]bool
	ended    []string // the oldest first
}

// forget notes that a stream has ended, and forgets the one that ended longest ago if there are many.
func (k *correlation) forget(party string) {
	delete(k.open, party)
	for _, id := range k.named[party] {
		if delete(k.sessions[id], party); len(k.sessions[id]) == 0 {
			delete(k.sessions, id)
		}
	}
	delete(k.named, party)
	if k.ended = append(k.ended, party); len(k.ended) <= endedKept {
		return
	}
	if oldest := k.ended[0]; !k.open[oldest] {
		if id := k.ids[oldest]; k.given[id] == oldest {
			delete(k.given, id)
		}
		delete(k.ids, oldest)
	}
	k.ended = slices.Delete(k.ended, 0, 1)
}

// learn notes the ids in an event.
func (k *correlation) learn(r *transcript.Record) {
	data, _ := r.Event.Data.(map[string]any)
	if id, ok := data[vocab.ConnectionID]; ok && r.Event.Type == vocab.ConnectedEvent {
		if len(k.given) >= maxStreams {
			clear(k.given)
			clear(k.ids)
		}
		k.given[fmt.Sprint(id)], k.ids[r.Conn] = r.Conn, fmt.Sprint(id)
	}
	id, ok := data[vocab.SessionID].(string)
	if !ok {
		return
	}
	if k.sessions[id] == nil {
		if len(k.sessions) >= maxStreams {
			clear(k.sessions)
			clear(k.named)
		}
		k.sessions[id] = map[string]bool{}
	}
	if !k.sessions[id][r.Conn] {
		k.sessions[id][r.Conn] = true
		k.named[r.Conn] = append(k.named[r.Conn], id)
	}
}

// partyOf returns the party of a request, found where the profile says; "" if that is silent.
func (k *correlation) partyOf(r *transcript.Record, h http.Header) string {
	body, _, err := wjson.Decode(r.Bytes)
	for _, how := range []binding.Correlation{k.wire.Correlation, k.wire.Correlation.OfCreate(),
		k.wire.Correlation.OfLoad()} {
		switch {
		case how.Single && len(k.open) == 1:
			return k.onlyOpen()
		case how.Header != "" && h.Get(how.Header) != "":
			return owner(k.given, h.Get(how.Header))
		case how.Body != "" && err == nil:
			if id, ok := how.Body.Get(body); ok {
				return owner(k.given, fmt.Sprint(id))
			}
		}
	}
	return ""
}

// onlyParty returns the party of a message that does not say its stream where the profile expects it: that whose
// connection id stands in any header or member, else that whose stream alone is open or has named the message's
// session. "" if several streams are possible.
func (k *correlation) onlyParty(r *transcript.Record, h http.Header) string {
	if r.Event == nil {
		return ""
	}
	for _, values := range h {
		for _, v := range values {
			if party := k.given[v]; party != "" {
				return party
			}
		}
	}
	body, _, _ := wjson.Decode(r.Bytes)
	members, _ := body.(map[string]any)
	for _, v := range members {
		if text, ok := v.(string); ok && k.given[text] != "" {
			return k.given[text]
		}
	}
	if len(k.open) == 1 {
		return k.onlyOpen()
	}
	id, _ := k.wire.Fields.Request.SessionID.Get(body)
	text, _ := id.(string)
	found := ""
	for party := range k.sessions[text] {
		switch {
		case !k.open[party]:
		case found != "":
			return ""
		default:
			found = party
		}
	}
	return found
}

// onlyOpen returns the party of the only open stream.
func (k *correlation) onlyOpen() string {
	for name := range k.open {
		return name
	}
	return ""
}

// nobody is the party of a request that names an unknown stream.
const nobody = "nobody"

func owner(given map[string]string, id string) string { return cmp.Or(given[id], nobody) }
