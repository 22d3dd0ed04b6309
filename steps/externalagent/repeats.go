package externalagent

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"parley/transcript"
)

// A host tells its state again and again, and most of it as it was. What repeats is kept once: in the bytes of a record
// there is a remark in its place, with its size, the record that has it in full, and its digest; the event of the
// record is as ever.
const (
	longMessage = 8 << 10 // bytes; a shorter message is kept as it is
	longMember  = 2 << 10 // of a payload; so is a shorter member
	maxRepeats  = 500     // members that are remembered of one connection
)

// repeats decodes the records of one scenario. It remembers for each connection by itself: what a party is told is to
// be found in the records of its own connection.
type repeats struct {
	of map[string]map[[sha256.Size]byte]member // by connection and digest
}

// member is one of a payload that has come.
type member struct {
	record int
	value  any
}

// stretch is where a member of the payload lies in a message.
type stretch struct {
	name       string
	start, end int
	digest     [sha256.Size]byte
}

// decode fills a record's Event, and leaves out of its bytes what repeats an earlier record of the connection byte for
// byte.
func (m *repeats) decode(r *transcript.Record) {
	if r.Kind == transcript.Open {
		delete(m.of, r.Conn) // who asks what came over this connection finds it there
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
	if seen == nil {
		seen = map[[sha256.Size]byte]member{}
		if m.of == nil {
			m.of = map[string]map[[sha256.Size]byte]member{}
		}
		m.of[r.Conn] = seen
	}
	for _, s := range spans {
		if _, known := seen[s.digest]; !known && len(seen) < maxRepeats {
			seen[s.digest] = member{r.N, body[s.name]}
		}
	}
}

// shortened decodes a message without the members that were seen before, and takes these as they were. It reports
// whether that was possible: a message with faults is decoded as a whole, so that they are told as they are.
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

// longMembers finds the long members of a message's payload; none in what cannot be read so, or names a member twice.
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

// membersOf finds the long members of the object that a decoder stands before, and reads behind it. Nil where it
// cannot.
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
