package externalagent

import (
	"context"
	"fmt"

	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/transport/driver"
	"parley/transport/transcript"
)

func (s *suite) declared(capability string) error {
	if !s.Env.Profile.Has(capability) {
		return &steps.NotApplicableError{Reason: "the target does not declare the capability " + capability}
	}
	return nil
}

// hostEverywhere returns an error if a profile does not promise a host in every relay session.
func (s *suite) hostEverywhere() error {
	switch {
	case s.Env.Role == vocab.Relay:
		return nil
	case s.fixed():
		return &steps.NotApplicableError{Reason: "the profile names one relay session (external-agent.session)"}
	}
	return s.declared(binding.RelaySessions)
}

func (s *suite) hostJoins(ctx context.Context, a *party) error {
	return inTurn(ctx, s.host(a.session), s.connected, s.joins)
}

// host returns the party by which the harness plays the host of a relay session.
func (s *suite) host(session string) *party {
	if p, ok := s.hosts[session]; ok {
		return p
	}
	name := "host"
	if len(s.hosts) > 0 {
		name = fmt.Sprintf("host%d", len(s.hosts)+1)
	}
	p := s.party(name)
	p.role, p.session = s.wire.HostRole, session
	s.hosts[session] = p
	return p
}

// hostIsThere makes sure that the relay session of an agent has a host if the harness plays it.
func (s *suite) hostIsThere(ctx context.Context, agent *party) error {
	if s.Env.Role != vocab.Relay || s.hostless || agent.role != vocab.AgentRole {
		return nil
	}
	h := s.host(agent.session)
	if s.plays[agent.session] != nil && h.conn != nil && s.endedAt(h) == 0 {
		return nil
	}
	mark := s.mark
	if !h.joined {
		if err := s.getsIn(ctx, h); err != nil {
			return err
		}
		if _, err := s.needAnswer(ctx, h.last); err != nil {
			return err
		}
		h.joined = true
	}
	s.mark = mark
	return s.playHost(h, agent.session)
}

// playHost lets the harness play the host of a relay session over a party's connection.
func (s *suite) playHost(h *party, session string) error {
	f, err := loadFlow(binding.FlowFile(s.Env.Profile))
	if err != nil {
		return err
	}
	pl := newPlay(s.T, f, fmt.Sprintf("%s-%d", s.Nonce, s.Serial()))
	pl.attend(h.conn, h.name, h.last.mark)
	s.plays[session] = pl
	return nil
}

// secondHost lets a second host join the relay session of agent A, the effect of which no clause defines (EA-G01). If
// the relay accepts it, it plays on.
func (s *suite) secondHost(ctx context.Context, a *party) error {
	p := s.party("host2")
	p.role, p.session = s.wire.HostRole, a.session
	if err := s.joins(ctx, p); err != nil {
		return err
	}
	if rec, miss := s.answeredOrClosed(ctx, p.last); miss != nil || kindOf(&rec) != vocab.RelayJoined {
		s.Note("a second host is not let in")
		return nil
	}
	a.study = "" // the session belonged to the first host
	return s.playHost(p, a.session+" second")
}

// hostSendsJunk sends the relay, as a host, a message that is not an envelope.
func (s *suite) hostSendsJunk(ctx context.Context, what string) error {
	a := s.party("A")
	legal := envelope(vocab.StateUpdated, "", "", object{
		"source": vocab.SourceHost, vocab.Spec: object{}, vocab.MessageHistory: []any{}, vocab.ToolSchema: []any{},
	})
	m := driver.Message{Label: what}
	if spoil := faults[what]; spoil != nil {
		spoil(legal)
		m.Body = mustEncode(legal)
	} else if text, ok := noEnvelopes[what]; ok {
		m.Body = []byte(text)
	} else {
		return fmt.Errorf("no step sends %q", what)
	}
	if err := s.hostSays(ctx, a, func(*play) any { return m }); err != nil {
		return err
	}
	h := s.host(a.session)
	q, err := s.ask(ctx, a, vocab.SnapshotGet, object{})
	if err != nil {
		return err
	}
	s.dealtWith(ctx, q, h)
	if s.wasRefused(q) { // as if there were no host: the relay may be about to disconnect it
		limited, cancel := deadline.WithLimit(ctx, s.Limit(s.window()))
		_, _ = s.T.Await(limited, h.opened, func(r *transcript.Record) bool { return r.Conn == h.name && closed(r) })
		cancel()
	}
	said := "nothing"
	for _, r := range s.Between(h.name, h.opened, 0) {
		if received(vocab.ErrorMessage)(&r) || closed(&r) {
			said = steps.Seen(r)
		}
	}
	s.Note("the relay answers its host: %s", said)
	if s.endedAt(h) > 0 { // a relay may disconnect such a host
		_ = s.disconnect(h, driver.Reset)
		s.stopPlay(a.session)
		a.study = ""
		return s.hostIsThere(ctx, a)
	}
	return nil
}

// passed reports what a relay has made of everything that an agent and its host have sent since they joined. A last
// message of each is the fence.
func (s *suite) passed(ctx context.Context, p *party) error {
	h := s.host(p.session)
	if h.conn == nil || p.conn == nil {
		return steps.NotTestedf("agent %s and a host are not both in its relay session", p.name)
	}
	last := s.newWord("fence")
	q, err := s.ask(ctx, p, vocab.AgentMessage, object{"text": last})
	if err != nil {
		return err
	}
	says := func(kind, text string) func(*transcript.Record) bool {
		return func(r *transcript.Record) bool { return received(kind)(r) && payload(r)[vocab.Text] == text }
	}
	fence, miss := s.Await(ctx, steps.Wait{Conn: h.name, After: q.mark, Kind: "agent.message received by the host",
		Fence: s.fenceAtHost(p), Match: says(vocab.AgentMessage, last)})
	if miss != nil {
		return s.judgeOrNeed(true, s.model().Unanswered(s.recordOf(q), "agent.message received by the host", miss, "EA-008",
			"EA-025")...)
	}
	word := s.newWord("fence")
	if err := s.hostSays(ctx, p, func(*play) any { return userSays(word, "fence") }); err != nil {
		return err
	}
	if _, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: fence.N, Kind: "user.message received by the agent",
		Fence: s.fence(p), Match: says(vocab.UserMessage, word)}); miss != nil {
		return s.judgeOrNeed(true, s.model().Unanswered(s.recordOf(q), "user.message received by agent "+p.name, miss,
			"EA-009", "EA-025")...)
	}
	return s.judgeOrNeed(false, s.model().Passed(p.name, h.name)...)
}

// hostSays lets the host of an agent's relay session send something unrequested.
func (s *suite) hostSays(ctx context.Context, p *party, what func(*play) any) error {
	pl := s.plays[p.session]
	if pl == nil {
		return steps.NotTestedf("no host is in the relay session of agent %s", p.name)
	}
	pl.push(ctx, what)
	return nil
}

// userSays returns a message of the participant at a stage.
func userSays(text, stage string) object {
	return envelope(vocab.UserMessage, "", "", object{"text": text, "stage": stage})
}

// hostAnnounces lets the host announce a new state, or one as long as that of a big hall.
func (s *suite) hostAnnounces(ctx context.Context, how string) error {
	s.mark = s.T.Len()
	return s.hostSays(ctx, s.party("A"), func(pl *play) any {
		pl.say("assistant", s.newWord("news"))
		e := pl.updated()
		if how == "long" {
			seats := []any{}
			for i := range 1500 {
				seats = append(seats, object{"id": fmt.Sprintf("seat-%04d", i), "label": "座位", "available": i%7 != 0})
			}
			e[vocab.Payload].(object)[vocab.Spec] = object{"stage": "seat", "items": seats}
		}
		return e
	})
}

// hostSaysOddly lets the host send what a relay that decodes and re-encodes easily damages: big and odd numbers,
// escapes, unknown members.
func (s *suite) hostSaysOddly(ctx context.Context, p *party) error {
	return s.hostSays(ctx, p, func(*play) any {
		return driver.Message{Label: vocab.StateUpdated, Body: []byte(`{"v":"mvp-0.2","type":"state.updated",` +
			`"parley":{"unknown":[1.0,1e2,12345678901234567890,-0,0.1]},"payload":{"source":"host",` +
			`"uiSpec":{"price":9007199254740991,"fraction":0.1,"small":1e-7,"html":"<b>\u0026\u2028é😀</b>","empty":{},` +
			`"none":null,"list":[]},"parleyUnknown":{"kept":true},` +
			`"messageHistory":[{"text":"中文 \"quoted\" \\ / \n"}],"toolSchema":[]}}`)}
	})
}

// stopPlay stops the harness's play for the host of a relay session.
func (s *suite) stopPlay(session string) {
	if pl := s.plays[session]; pl != nil {
		pl.stop()
		delete(s.plays, session)
	}
}

// hostGoes ends the connection of agent A's host, which is not replaced.
func (s *suite) hostGoes(ctx context.Context, how string) error {
	session := s.party("A").session
	s.stopPlay(session)
	h := s.host(session)
	s.hostless = true
	for _, p := range s.parties {
		p.study = "" // the session ended with its host
	}
	if err := s.disconnect(h, modeOf(how)); err != nil {
		return err
	}
	s.awaitHostless(ctx, s.party("A"))
	return nil
}

// awaitHostless gives a relay time to notice that a host has left: the two connections are unordered, and a request
// right after the loss may still be sent to the former host. A request answered by the relay itself shows that it has
// noticed. A relay that answers none gets a few quiet windows, longer ones if it is slow: it may work requests off one
// by one.
func (s *suite) awaitHostless(ctx context.Context, p *party) {
	quiet := s.Env.Undisturbed(s.Env.Profile.Limits.Quiet.Duration)
	for range 4 {
		q, ok := s.asksAside(ctx, p)
		if !ok {
			return
		}
		w := steps.Wait{Conn: p.name, After: q.mark, Within: quiet, Match: answers(q.id)}
		if _, miss := s.Await(ctx, w); miss == nil || miss.At > 0 {
			return
		}
	}
}

// dealtWith waits until a relay has handled a host's message that an agent's request follows: the request is
// answered, or the host is disconnected, perhaps with the request lost. The next step judges the message to the agent.
func (s *suite) dealtWith(ctx context.Context, q *request, h *party) {
	limited, cancel := deadline.WithLimit(ctx, s.Limit(s.Env.Event()))
	defer cancel()
	answered := answers(q.id)
	_, _ = s.T.Await(limited, h.opened, func(r *transcript.Record) bool {
		return r.Conn == h.name && closed(r) || r.Conn == q.of.name && answered(r)
	})
}
