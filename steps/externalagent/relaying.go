package externalagent

import (
	"context"
	"fmt"
	"slices"

	"github.com/cucumber/godog"

	"parley/driver"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerRelaying(sc *godog.ScenarioContext) {
	steps.Step(sc, `^no host is there$`, func() error { s.hostless = true; return nil })
	steps.Step(sc, `^the host connects and joins$`, func(ctx context.Context) error {
		h := s.host(s.party("A").session)
		if err := s.connected(ctx, h); err != nil {
			return err
		}
		return s.joins(ctx, h, nil)
	})
	steps.Step(sc, `^the host is told that it has joined$`, func(ctx context.Context) error { return s.isJoined(ctx, s.host(s.party("A").session)) })
	steps.Step(sc, `^the host announces a long state$`, func(ctx context.Context) error { return s.hostAnnouncesMuch(ctx, s.party("A")) })
	steps.Step(sc, `^a second host joins beside it$`, s.secondHost)
	steps.Step(sc, `^the host sends the relay (.+)$`, s.hostSendsJunk)
	steps.Step(sc, `^the host leaves$`, func() error { return s.hostLeaves(driver.Graceful) })
	steps.Step(sc, `^the host loses its connection$`, func() error { return s.hostLeaves(driver.Reset) })
	steps.Step(sc, `^another host joins$`, func(ctx context.Context) error {
		s.hostless = false
		return s.hostIsThere(ctx, s.party("A"))
	})
	steps.Step(sc, `^what agent (\w+) and its host say has passed as it was$`, func(ctx context.Context, name string) error { return s.passed(ctx, s.party(name)) })
	steps.Step(sc, `^the host announces a new state$`, func(ctx context.Context) error { return s.hostAnnounces(ctx, s.party("A")) })
	steps.Step(sc, `^the host sends what no JSON encoder would send twice alike$`, func(ctx context.Context) error { return s.hostSaysOddly(ctx, s.party("A")) })
	steps.Step(sc, `^agent (\w+) hears nothing of agent (\w+)'s relay session$`, func(ctx context.Context, name, other string) error {
		return s.hearsNothingOf(ctx, s.party(name), s.party(other))
	})
	steps.Step(sc, `^agent (\w+) and agent (\w+) each ask for (\d+) snapshots at once, and each gets its own$`, s.askAtOnce)
	steps.Step(sc, `^agent (\w+) sends (\d+) requests of all kinds without waiting, and each is answered$`, func(ctx context.Context, name string, n int) error {
		return s.pipelines(ctx, s.party(name), n)
	})
	steps.Step(sc, `^several agents may be in a relay session$`, func() error { return s.declared(target.TwoAgents) })
	steps.Step(sc, `^a host is in every relay session$`, func() error {
		if s.Env.Role == vocab.Relay {
			return nil
		}
		if s.fixed() {
			return &steps.NotApplicableError{Reason: "the profile names one relay session (external-agent.session)"}
		}
		return s.declared(target.RelaySessions)
	})
}

func (s *suite) declared(capability string) error {
	if !s.Env.Profile.Has(capability) {
		return &steps.NotApplicableError{Reason: "the target does not declare the capability " + capability}
	}
	return nil
}

// host is the party by which the harness plays the host of a relay session.
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

// hostIsThere makes sure that the relay session of an agent has a host, where the harness plays it.
func (s *suite) hostIsThere(ctx context.Context, agent *party) error {
	if s.Env.Role != vocab.Relay || s.hostless || agent.role != vocab.AgentRole {
		return nil
	}
	h := s.host(agent.session)
	if s.plays[agent.session] != nil && h.conn != nil && s.endedAt(h) == 0 {
		return nil
	}
	f, err := loadFlow(s.Env.Profile.FlowFile())
	if err != nil {
		return err
	}
	mark := s.mark
	if !h.joined {
		if err := s.getsIn(ctx, h); err != nil {
			return err
		}
		rec, err := s.needAnswer(ctx, h.last, vocab.RelayJoined, "EA-025", "EA-028")
		if err != nil {
			return err
		}
		h.joined = true
		_ = rec
	}
	pl := newPlay(s.T, f, fmt.Sprintf("%s-%d", s.Nonce, s.Serial()))
	pl.attend(h.conn, h.name, h.last.mark)
	s.plays[agent.session] = pl
	s.mark = mark
	return nil
}

// secondHost has another host join the relay session of agent A while the first one is there, of which no clause says what
// comes (EA-G01): whichever of them the relay takes plays on.
func (s *suite) secondHost(ctx context.Context) error {
	session := s.party("A").session
	p := &party{name: "host2", role: s.wire.HostRole, session: session}
	s.parties[p.name] = p
	if err := s.connected(ctx, p); err != nil {
		return err
	}
	if err := s.joins(ctx, p, nil); err != nil {
		return err
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: p.last.mark, Match: func(r *transcript.Record) bool { return answers(p.last.id)(r) || closed(r) }})
	if miss != nil || kindOf(&rec) != vocab.RelayJoined {
		s.Note("a second host is not let in")
		return nil
	}
	f, err := loadFlow(s.Env.Profile.FlowFile())
	if err != nil {
		return err
	}
	pl := newPlay(s.T, f, fmt.Sprintf("%s-%d", s.Nonce, s.Serial()))
	pl.attend(p.conn, p.name, p.last.mark)
	s.plays[session+" second"] = pl
	s.party("A").study = "" // it was the first one's
	return nil
}

// hostSendsJunk sends a relay, as a host, what is no envelope.
func (s *suite) hostSendsJunk(ctx context.Context, what string) error {
	a := s.party("A")
	pl := s.plays[a.session]
	if pl == nil {
		return steps.NotTestedf("no host is in the relay session of agent A")
	}
	legal := envelope(vocab.StateUpdated, "", "", object{"source": vocab.SourceHost, "uiSpec": object{}, "messageHistory": []any{}, "toolSchema": []any{}})
	var m driver.Message
	if spoil := faults[what]; spoil != nil {
		spoil(legal)
		var err error
		if m, err = message(legal); err != nil {
			return err
		}
	} else if text, ok := map[string]string{"malformed JSON": `{"v":`, "an empty text": "", "a JSON array": "[]", "a JSON null": "null"}[what]; ok {
		m.Body = []byte(text)
	} else {
		return fmt.Errorf("no step sends %q", what)
	}
	m.Label = what
	pl.push(ctx, func() []any { return []any{m} })
	h := s.host(a.session)
	q, err := s.ask(ctx, a, vocab.SnapshotGet, object{})
	if err != nil {
		return err
	}
	_, _ = s.answer(ctx, q) // behind it the relay has dealt with the host's message; what the agent is told is judged by the next step
	said := "nothing"
	for _, r := range s.Between(h.name, h.opened, 0) {
		if received(vocab.ErrorMessage)(&r) || closed(&r) {
			said = steps.Seen(r)
		}
	}
	s.Note("the relay answers its host: %s", said)
	if s.endedAt(h) > 0 { // a relay may well send such a host away
		_ = s.disconnect(h, driver.Reset)
		pl.stop()
		delete(s.plays, a.session)
		a.study = ""
		return s.hostIsThere(ctx, a)
	}
	return nil
}

func (s *suite) hostLeaves(how driver.CloseMode) error {
	session := s.party("A").session
	if pl := s.plays[session]; pl != nil {
		pl.stop()
		delete(s.plays, session)
	}
	h := s.host(session)
	s.hostless = true
	for _, p := range s.parties {
		p.study = "" // it went with its host
	}
	return s.disconnect(h, how)
}

// passing tells to which clauses the passing on of a message is charged.
var passing = map[string][]string{
	vocab.SessionStart: {"EA-038"}, vocab.SnapshotGet: {"EA-041"}, vocab.ToolCall: {"EA-007"}, vocab.AgentMessage: {"EA-008"}, vocab.SessionEnd: {"EA-063"},
	vocab.SessionStarted: {"EA-038"}, vocab.SnapshotState: {"EA-004", "EA-005", "EA-006", "EA-041"}, vocab.ToolResult: {"EA-046", "EA-047"},
	vocab.StateUpdated: {"EA-055"}, vocab.UserMessage: {"EA-009", "EA-060"}, vocab.SessionEnded: {"EA-063"}, vocab.ErrorMessage: {"EA-068", "EA-069", "EA-070"},
}

// passed judges that a relay has passed on what an agent and its host have said since they joined: each message once, in
// order, with nothing changed. A message of each, sent now and last, is the fence.
func (s *suite) passed(ctx context.Context, p *party) error {
	h := s.host(p.session)
	last := fmt.Sprintf("fence-%s-%d", s.Nonce, s.Serial())
	q, err := s.ask(ctx, p, vocab.AgentMessage, object{"text": last})
	if err != nil {
		return err
	}
	fence, miss := s.Await(ctx, steps.Wait{Conn: h.name, After: q.mark, Kind: "agent.message at the host", Fence: s.fenceAtHost(p), Match: func(r *transcript.Record) bool {
		return received(vocab.AgentMessage)(r) && payload(r)["text"] == last
	}})
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"EA-008", "EA-025"}, At: q.mark, Expected: "agent.message at the host", Observed: miss.Reason})
	}
	pl := s.plays[p.session]
	if pl == nil {
		return steps.NotTestedf("no host is in the relay session of agent %s", p.name)
	}
	word := fmt.Sprintf("fence-%s-%d", s.Nonce, s.Serial())
	pl.push(ctx, func() []any {
		return []any{envelope(vocab.UserMessage, "", "", object{"text": word, "stage": "fence"})}
	})
	heard, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: fence.N, Kind: "user.message at the agent", Fence: s.fence(p), Match: func(r *transcript.Record) bool {
		return received(vocab.UserMessage)(r) && payload(r)["text"] == word
	}})
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"EA-009", "EA-025"}, At: fence.N, Expected: "user.message at agent " + p.name, Observed: miss.Reason})
	}
	if err := s.compare(p.name, h.name, s.said(p, transcript.Sent, q.mark), s.said(h, transcript.Received, fence.N)); err != nil {
		return err
	}
	pushed := 0
	for _, r := range s.said(h, transcript.Sent, heard.N) {
		if payload(&r)["text"] == word {
			pushed = r.N
		}
	}
	return s.compare(h.name, p.name, s.said(h, transcript.Sent, pushed), s.said(p, transcript.Received, heard.N))
}

// said are the envelopes that passed on a party's present connection in one direction, up to a record, but for those of
// joining.
func (s *suite) said(p *party, dir transcript.Dir, to int) []transcript.Record {
	var out []transcript.Record
	for _, r := range s.T.After(p.opened) {
		if r.N > to || r.Conn != p.name || r.Dir != dir || r.Event == nil || slices.Contains([]string{vocab.RelayJoin, vocab.RelayJoined}, kindOf(&r)) {
			continue
		}
		if _, known := passing[kindOf(&r)]; known {
			out = append(out, r)
		}
	}
	return out
}

// compare judges that what one party sent is what the other received. What has come twice is told, and passed over.
func (s *suite) compare(from, to string, sent, got []transcript.Record) error {
	at := 0
	for i := range sent {
		for i > 0 && at < len(got) && !alike(&sent[i], &got[at]) && alike(&sent[i-1], &got[at]) {
			_ = s.Judge(twice(from, to, &got[at]))
			at++
		}
		kind := kindOf(&sent[i])
		check := steps.Check{Clauses: passing[kind], At: sent[i].N, Expected: fmt.Sprintf("%s of %s at %s, once, in order and as it was: %s", kind, from, to, clip(string(sent[i].Bytes), 300))}
		switch {
		case at >= len(got):
			check.Observed = "it has not come"
			return s.Judge(check)
		case !alike(&sent[i], &got[at]):
			check.Observed, check.At = steps.Seen(got[at]), got[at].N
			return s.Judge(check)
		}
		check.OK = true
		_ = s.Judge(check)
		at++
	}
	for ; at < len(got); at++ {
		if len(sent) > 0 && alike(&sent[len(sent)-1], &got[at]) {
			_ = s.Judge(twice(from, to, &got[at]))
			continue
		}
		return s.Judge(steps.Check{Clauses: passing[kindOf(&got[at])], At: got[at].N, Expected: fmt.Sprintf("nothing at %s but what %s has sent", to, from), Observed: steps.Seen(got[at])})
	}
	return nil
}

func twice(from, to string, r *transcript.Record) steps.Check {
	return steps.Check{Clauses: passing[kindOf(r)], At: r.N, Expected: fmt.Sprintf("%s of %s at %s, once", kindOf(r), from, to), Observed: "it has come twice: " + steps.Seen(*r)}
}

// alike tells whether a message has passed as it was: its type, its payload, and whether it has an id and a replyTo. A relay may add members
// to the envelope, and may number requests anew as long as their answers come back under the agent's own ids.
func alike(a, b *transcript.Record) bool {
	same := func(name string) bool { return (field(a, name) == "") == (field(b, name) == "") }
	return kindOf(a) == kindOf(b) && same("id") && same("replyTo") && wjson.Equal(a.Event.Data, b.Event.Data)
}

func (s *suite) hostAnnounces(ctx context.Context, p *party) error {
	pl := s.plays[p.session]
	if pl == nil {
		return steps.NotTestedf("no host is in the relay session of agent %s", p.name)
	}
	s.mark = s.T.Len()
	pl.push(ctx, func() []any {
		pl.say("assistant", fmt.Sprintf("news-%s-%d", s.Nonce, s.Serial()))
		return []any{pl.updated()}
	})
	return nil
}

// hostAnnouncesMuch has the host announce a state as long as that of a big hall may be.
func (s *suite) hostAnnouncesMuch(ctx context.Context, p *party) error {
	pl := s.plays[p.session]
	if pl == nil {
		return steps.NotTestedf("no host is in the relay session of agent %s", p.name)
	}
	s.mark = s.T.Len()
	pl.push(ctx, func() []any {
		seats := []any{}
		for i := range 1500 {
			seats = append(seats, object{"id": fmt.Sprintf("seat-%04d", i), "label": "座位", "available": i%7 != 0})
		}
		for i := range 5 {
			pl.say("assistant", fmt.Sprintf("news %d of %s", i, s.Nonce))
		}
		e := pl.updated()
		body := e["payload"].(object)
		body["uiSpec"] = object{"stage": "seat", "items": seats}
		return []any{e}
	})
	return nil
}

// hostSaysOddly has the host send what is easily lost by a relay that decodes and encodes: big and odd numbers, escapes,
// members that it does not know.
func (s *suite) hostSaysOddly(ctx context.Context, p *party) error {
	pl := s.plays[p.session]
	if pl == nil {
		return steps.NotTestedf("no host is in the relay session of agent %s", p.name)
	}
	pl.push(ctx, func() []any {
		return []any{driver.Message{Label: vocab.StateUpdated, Body: []byte(`{"v":"mvp-0.2","type":"state.updated","parley":{"unknown":[1.0,1e2,12345678901234567890,-0,0.1]},` +
			`"payload":{"source":"host","uiSpec":{"price":9007199254740991,"fraction":0.1,"small":1e-7,"html":"<b>\u0026\u2028é😀</b>","empty":{},"none":null,"list":[]},"parleyUnknown":{"kept":true},"messageHistory":[{"text":"中文 \"quoted\" \\ / \n"}],"toolSchema":[]}}`)}}
	})
	return nil
}

// hearsNothingOf judges that nothing of another relay session reaches an agent (EA-025), up to its own fence; nor its end.
func (s *suite) hearsNothingOf(ctx context.Context, p, other *party) error {
	study := other.study
	if study == "" || study == p.study {
		return steps.NotTestedf("agent %s has no study session of its own", other.name)
	}
	if _, err := s.snapshot(ctx, p); err != nil {
		if at := s.endedAt(p); at > 0 {
			return s.Judge(steps.Check{Clauses: []string{"EA-025"}, At: at, Observed: steps.Seen(s.T.After(at - 1)[0]),
				Expected: fmt.Sprintf("agent %s stays in its relay session, whatever agent %s does in another", p.name, other.name)})
		}
		return err
	}
	look := func() error {
		for _, r := range s.Between(p.name, p.opened, 0) {
			text := string(r.Bytes)
			if r.Kind == transcript.Frame && (contains(text, study) || s.word != "" && contains(text, s.word)) {
				return s.Judge(steps.Check{Clauses: []string{"EA-025"}, Expected: "nothing of another relay session", Observed: steps.Seen(r), At: r.N})
			}
		}
		return s.Judge(steps.Check{Clauses: []string{"EA-025"}, OK: true})
	}
	s.AtEnd(func() { _ = look() })
	return look()
}

// askAtOnce has two agents ask at once; each must be answered on its own connection, by the ids that it has given.
func (s *suite) askAtOnce(ctx context.Context, a, b string, n int) error {
	var asked []*request
	for i := range n {
		id := fmt.Sprintf("req-%03d", i+1) // the ids of two agents may well be the same
		for _, name := range []string{a, b} {
			q := &request{of: s.party(name), id: id, kind: vocab.SnapshotGet, body: object{}}
			m, err := message(envelope(vocab.SnapshotGet, id, "", object{}))
			if err != nil {
				return err
			}
			if err := s.sendRaw(ctx, s.party(name), q, m); err != nil {
				return err
			}
			asked = append(asked, q)
		}
	}
	for _, q := range asked {
		rec, err := s.needAnswer(ctx, q, vocab.SnapshotState, "EA-041", "EA-077a")
		if err != nil {
			return err
		}
		_ = s.Judge(steps.Check{Clauses: []string{"EA-041", "EA-077a"}, OK: true, At: rec.N})
	}
	return nil
}

// pipelines sends requests without waiting: each is answered by its own id, and by a message of its kind.
func (s *suite) pipelines(ctx context.Context, p *party, n int) error {
	var asked []*request
	for i := range n {
		var q *request
		var err error
		if i%2 == 0 {
			q, err = s.ask(ctx, p, vocab.SnapshotGet, object{})
		} else {
			q, err = s.call(ctx, p, "parley_no_such_tool", object{})
		}
		if err != nil {
			return err
		}
		asked = append(asked, q)
	}
	for _, q := range asked {
		if q.kind == vocab.ToolCall {
			if err := s.judgeRefusal(ctx, q, vocab.UnknownTool); err != nil {
				return err
			}
			continue
		}
		rec, err := s.needAnswer(ctx, q, vocab.SnapshotState, "EA-041", "EA-077a")
		if err != nil {
			return err
		}
		_ = s.Judge(steps.Check{Clauses: []string{"EA-041", "EA-077a", "EA-023a"}, OK: true, At: rec.N})
	}
	return nil
}
