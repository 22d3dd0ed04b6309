package externalagent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// A host sends its state repeatedly, mostly unchanged. Repeated members are stored once: later records have a remark
// in their place with the size, the record that has them in full, and the digest. The event of the record is
// complete.
const (
	longMessage = 8 << 10 // bytes; shorter messages are kept as they are
	longMember  = 2 << 10 // of a payload; shorter members are kept too
	maxRepeats  = 500     // members remembered per connection
)

// repeats decodes the records of one scenario. It remembers members per connection, so that the content can be found
// in the records of the same connection.
type repeats struct {
	of     map[string]map[[sha256.Size]byte]member // by connection and digest
	latest latest
}

// latest is a record with long members, of which it is not known yet whether the transcript keeps it.
type latest struct {
	record int
	conn   string
	event  *transcript.Event
	spans  []stretch
}

// member is an earlier member of a payload.
type member struct {
	record int
	value  any
}

// stretch is the position of a payload member in a message.
type stretch struct {
	name       string
	start, end int
	digest     [sha256.Size]byte
}

// decode fills a record's Event and omits from its bytes what repeats an earlier record of the connection byte for
// byte.
func (m *repeats) decode(r *transcript.Record) {
	m.remember(r.N)
	if r.Kind == transcript.Open || r.Kind == transcript.Closed {
		delete(m.of, r.Conn) // references must not point to an earlier connection of that name
	}
	if r.Kind != transcript.Frame || r.Dir != transcript.Received || len(r.Bytes) < longMessage {
		decode(r)
		return
	}
	spans := longMembers(r.Bytes)
	seen := m.of[r.Conn]
	if !m.shortened(r, spans, seen) {
		decode(r)
	}
	body := payload(r)
	if body == nil || len(r.Event.Faults) > 0 {
		return
	}
	if !r.Late {
		m.latest = latest{r.N, r.Conn, r.Event, spans}
	}
}

// remember takes in the members of the latest record, unless the next one takes its number: then it was not kept, and
// nothing must refer to it or keep its values alive.
func (m *repeats) remember(next int) {
	l := m.latest
	m.latest = latest{}
	if l.event == nil || next <= l.record {
		return
	}
	seen := m.of[l.conn]
	if seen == nil {
		seen = map[[sha256.Size]byte]member{}
		if m.of == nil {
			m.of = map[string]map[[sha256.Size]byte]member{}
		}
		m.of[l.conn] = seen
	}
	body, _ := l.event.Data.(object) // the transcript may have replaced values by equal ones that it has already
	for _, s := range l.spans {
		if _, known := seen[s.digest]; !known && len(seen) < maxRepeats {
			seen[s.digest] = member{l.record, body[s.name]}
		}
	}
}

// shortened decodes a message without the members seen before, and reuses their values. It reports whether that was
// possible: a message with faults is decoded as a whole, so that the faults are reported as they are.
func (m *repeats) shortened(r *transcript.Record, spans []stretch, seen map[[sha256.Size]byte]member) bool {
	var b bytes.Buffer
	known, at := map[string]any{}, 0
	for _, s := range spans {
		was, ok := seen[s.digest]
		if !ok {
			continue
		}
		b.Write(r.Bytes[at:s.start])
		fmt.Fprintf(&b, `"… %d bytes, as in record %d, sha256 %x …"`, s.end-s.start, was.record, s.digest[:8])
		known[s.name], at = was.value, s.end
	}
	if len(known) == 0 {
		return false
	}
	b.Write(r.Bytes[at:])
	short := *r
	short.Bytes = b.Bytes()
	decode(&short)
	body := payload(&short)
	if body == nil || len(short.Event.Faults) > 0 {
		return false
	}
	for name, v := range known {
		body[name] = v
	}
	short.Bytes = slices.Clip(short.Bytes)
	*r = short
	return true
}

// longMembers finds the long members of a message's payload. It returns none if the text is malformed or repeats a
// member.
func longMembers(text []byte) []stretch {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	var out []stretch
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		if name.String() != "payload" || d.PeekKind() != '{' {
			if d.SkipValue() != nil {
				return nil
			}
			continue
		}
		if out = membersOf(d, text); out == nil {
			return nil
		}
	}
	if t, err := d.ReadToken(); err != nil || t.Kind() != '}' {
		return nil
	}
	return out
}

// membersOf reads the object that comes next and returns its long members. It returns nil if that fails.
func membersOf(d *jsontext.Decoder, text []byte) []stretch {
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	out := []stretch{}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil
		}
		name := strings.Clone(t.String())
		raw, err := d.ReadValue()
		if err != nil {
			return nil
		}
		end := int(d.InputOffset())
		start := end - len(raw)
		if start < 0 || !bytes.Equal(raw, text[start:end]) {
			return nil
		}
		if len(raw) >= longMember {
			out = append(out, stretch{name, start, end, sha256.Sum256(raw)})
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	return out
}

// Courses implements steps.Severer. An agent that reconnects joins again and resynchronises with snapshot.get (EA-026,
// EA-028, EA-076, EA-077a). Whether its session has outlived the connection is left open (EA-G09), so either is
// correct. For a target that is an agent, the harness cuts the connection; a killed agent knows nothing of its session,
// so it is not killed.
func (Protocol) Courses(role string) []steps.Course {
	if role == vocab.Agent {
		return []steps.Course{callingCourse()}
	}
	return []steps.Course{bookingCourse()}
}

// bookingCourse is the course of an agent that the harness plays.
func bookingCourse() steps.Course {
	return steps.Course{
		ID: "booking", Name: "a session of an agent up to its first call", Party: "A",
		Tags: strings.Fields(`@EA-028 @EA-038 @EA-041 @EA-077a @booking`),
		Lines: []string{
			`Given agent A has joined`, `When agent A starts a session`, `Then agent A is told that the session has started`,
			`When agent A makes the first call of the booking`, `Then agent A is told that the call succeeded`,
			`When agent A sends the participant a message`, `And agent A asks for a snapshot`, `Then agent A gets a snapshot`,
		},
		Back: []string{
			steps.ComesBack, `When agent A has joined`, `Then agent A resynchronises, or starts a session`,
			`And agent A is still served`,
		},
	}
}

// callingCourse is the course of a target that is an agent, up to its fourth call.
func callingCourse() steps.Course {
	return steps.Course{
		ID: "calls", Name: "an agent up to its fourth call", Party: model.AgentParty + "1",
		Tags: strings.Fields(`@EA-026 @EA-076 @EA-077`), Only: []steps.Way{steps.ByReset, steps.ByClose, steps.ByFin},
		Lines: []string{
			`Given a host awaits the agent`, `And the state after call 4 is lost`, // the agent must not continue
			`When the agent is started`, `Then the agent makes 4 calls`,
		},
		Back: []string{
			steps.ComesBack, `Then the agent connects again and joins`,
			`And the agent asks for a snapshot, or starts a session that it has not begun`,
			`And the agent makes a call that is announced`,
		},
	}
}

// severed marks a connection that was cut on purpose as lost; all of them if the target's process was killed.
func (s *suite) severed(party string, by steps.Way) error {
	for _, r := range s.T.All() {
		if r.Kind == transcript.Remark && strings.HasPrefix(r.Label, steps.SeveredAt) {
			s.cut = r.N
		}
	}
	for _, p := range s.parties {
		if p.name != party && by != steps.ByKill {
			continue
		}
		if p.conn != nil {
			_ = s.disconnect(p, driver.Reset)
		}
		p.conn, p.joined, p.last, p.returned = nil, false, nil, true
		if by == steps.ByKill {
			p.study, p.reset = "", ""
		}
	}
	if by == steps.ByKill {
		for session := range s.plays {
			s.stopPlay(session)
		}
		s.leavePages()
	}
	s.mark = s.T.Len()
	return nil
}

// resyncs judges that snapshot.get is answered after a connection was lost: with a snapshot, or with the error that
// there is no session, after which one can be started. A session whose start was not answered may or may not be
// running.
func (s *suite) resyncs(ctx context.Context, p *party) error {
	q, err := s.ask(ctx, p, vocab.SnapshotGet, object{})
	if err != nil {
		return err
	}
	rec, miss := s.answer(ctx, q)
	p.returned = false
	if miss == nil && refused(&rec) && s.codeOf(&rec) == vocab.SessionNotActive {
		p.study = ""
		return inTurn(ctx, p, s.starts, s.isStarted)
	}
	if _, err := s.getsSnapshot(ctx, p); err != nil {
		return err
	}
	if p.study == "" {
		p.study = "started before the cut"
	}
	return nil
}

// connectsAgain judges that an agent that is declared to reconnect does so, and joins before anything else (EA-026,
// EA-076).
func (s *suite) connectsAgain(ctx context.Context) error {
	if err := s.declared(binding.Reconnect); err != nil {
		return err
	}
	first := func(r *transcript.Record) bool { return r.Conn != s.severedParty() && r.Kind == transcript.Frame }
	rec, miss := s.awaitAgent(ctx, s.cut, s.joinLimit(), first)
	switch done := s.gone(); {
	case miss != nil && strings.HasSuffix(done, endedWell):
		return s.without(miss, "had finished before its connection was cut")
	case miss != nil:
		return s.Need(s.silent(miss, s.cut, model.Returns))
	}
	s.agent.back = rec.N
	return s.needs(&rec, "EA-026")
}

// severedParty is the connection of an agent that was cut.
func (s *suite) severedParty() string { return s.agent.name(1) }

// resumes judges the requests of an agent once it has joined again: it requests a snapshot before any call (EA-076,
// EA-077). An agent that was not told that its session had started may start one.
func (s *suite) resumes(ctx context.Context) error {
	rec, miss := s.awaitAgent(ctx, s.agent.back, s.pace(),
		received(vocab.SnapshotGet, vocab.SessionStart, vocab.SessionEnd, vocab.ToolCall))
	if miss != nil {
		return s.without(miss, "does nothing more")
	}
	s.agent.resumed = rec.N
	told := false
	for _, r := range s.Between(s.severedParty(), 0, s.cut) {
		told = told || sent(vocab.SessionStarted)(&r)
	}
	kind := kindOf(&rec)
	if told && (kind == vocab.SessionStart || kind == vocab.SessionEnd) {
		return steps.NotTestedf("the agent does not go on with its session: %s", steps.Seen(rec))
	}
	s.reports(&rec, "EA-076", "EA-077")
	return nil
}

// goesOnByState reports whether the agent continues according to the state that it received since.
func (s *suite) goesOnByState(ctx context.Context) error {
	call, miss := s.awaitAgent(ctx, s.agent.resumed-1, s.pace(), received(vocab.ToolCall))
	if miss != nil {
		return s.without(miss, "makes no further call")
	}
	s.reports(&call, "EA-077")
	return nil
}
