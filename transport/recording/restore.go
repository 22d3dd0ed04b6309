package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"

	"parley/transport/transcript"
)

// A long member of a message that repeats an earlier one byte for byte is not kept again: a text stands in its place,
// with its size, the record that has it, and the beginning of its digest.
var repeated = regexp.MustCompile(`"… [0-9]+ bytes, as in record [0-9]+, sha256 ([0-9a-f]{16}) …"`)

// Bounds of what is remembered of a recording.
const (
	longMessage = 8 << 10 // bytes; members of shorter messages are never left out
	longMember  = 2 << 10
	maxKept     = 1000     // members
	maxKeptSize = 32 << 20 // bytes of all
)

// restorer puts back what was left out of messages.
type restorer struct {
	kept  map[string][]byte // beginning of the digest → member
	order []string          // oldest first
	size  int
}

// restoreRecord returns a record with what was left out of it. What is no longer known counts as cut off.
func (s *restorer) restoreRecord(r transcript.Record) transcript.Record {
	if r.Kind != transcript.Frame && r.Kind != transcript.Stream {
		return r
	}
	if bytes.Contains(r.Bytes, []byte(" bytes, as in record ")) {
		r.Bytes = repeated.ReplaceAllFunc(r.Bytes, func(text []byte) []byte {
			if was := s.kept[string(repeated.FindSubmatch(text)[1])]; was != nil {
				return was
			}
			r.Cut++
			return text
		})
	}
	if len(r.Bytes) >= longMessage {
		s.rememberLong(r.Bytes)
	}
	return r
}

// rememberLong remembers the long members of the members of a message.
func (s *restorer) rememberLong(text []byte) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return
		}
		switch depth := d.StackDepth(); {
		case depth == 0:
			return
		case depth != 2 || t.Kind() != '"' || d.PeekKind() == 0:
			if depth > 2 || depth == 1 && t.Kind() == '[' {
				return // it is no object of objects
			}
			continue
		}
		if _, length := d.StackIndex(2); length%2 == 0 { // a value, not a name
			continue
		}
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		if len(value) >= longMember {
			s.addLong(bytes.Clone(value))
		}
	}
}

func (s *restorer) addLong(member []byte) {
	sum := sha256.Sum256(member)
	name := hex.EncodeToString(sum[:8])
	if s.kept[name] != nil {
		return
	}
	if s.kept == nil {
		s.kept = map[string][]byte{}
	}
	s.kept[name] = member
	s.order = append(s.order, name)
	for s.size += len(member); len(s.order) > maxKept || s.size > maxKeptSize && len(s.order) > 1; {
		s.size -= len(s.kept[s.order[0]])
		delete(s.kept, s.order[0])
		s.order = append([]string(nil), s.order[1:]...)
	}
}
