package externalagent

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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
	if r.Kind == transcript.Open {
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
