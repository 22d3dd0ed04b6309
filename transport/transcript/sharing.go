package transcript

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
)

// sharing lets the events of a transcript share equal objects and lists, so that they take memory once: a target may
// send a long state again and again with a small change. It must be told what became of each record: kept or dropped.
type sharing struct {
	seed  maphash.Seed
	known map[uint64]any // objects and lists by hash
	fresh []uint64       // those of the latest record
}

const (
	// sharedFrom is the decoded size from which a record shares what it has with others. Smaller ones are not worth it.
	sharedFrom = 4 << 10
	// partFrom is the size from which a part of a value is shared.
	partFrom = 256
	// partSize is what it takes to remember a part.
	partSize = 48
)

// event replaces the parts of an event that earlier ones have by theirs, and returns the size of the rest. It changes
// the event, but none of its values, which others may have.
func (s *sharing) event(e *Event) int {
	n := e.size()
	if n < sharedFrom {
		return n
	}
	if s.known == nil {
		s.seed, s.known = maphash.MakeSeed(), map[uint64]any{}
	}
	was := e.Envelope
	shared := s.value(was)
	e.Envelope, n = shared.value, shared.size
	for _, part := range []*any{&e.Data, &e.RequestID, &e.Timestamp} {
		if identical(*part, was) {
			*part = e.Envelope
		} else if name, ok := memberOf(was, *part); ok {
			*part = e.Envelope.(map[string]any)[name]
		} else {
			own := s.value(*part)
			*part, n = own.value, n+own.size
		}
	}
	return n
}

// memberOf returns the name of the member of an object that is the same in memory.
func memberOf(object, v any) (name string, ok bool) {
	members, _ := object.(map[string]any)
	for name, one := range members {
		if identical(one, v) {
			return name, true
		}
	}
	return "", false
}

// kept says that the latest record is part of the transcript.
func (s *sharing) kept() { s.fresh = s.fresh[:0] }

// dropped says that it is not: others must not keep it alive.
func (s *sharing) dropped() {
	for _, h := range s.fresh {
		delete(s.known, h)
	}
	s.kept()
}

// part is a value of an event with the parts that it shares.
type part struct {
	value   any
	changed bool // it is another value in memory than before
	hash    uint64
	size    int // of what is new
}

// value returns the known value that equals v, or v with such parts.
func (s *sharing) value(v any) part {
	var out part
	switch v := v.(type) {
	case nil:
		return part{hash: 1}
	case bool:
		if v {
			return part{value: v, hash: 2}
		}
		return part{value: v, hash: 3}
	case json.Number:
		return part{value: v, hash: mixed(4, maphash.String(s.seed, string(v))), size: size(v)}
	case string:
		return part{value: v, hash: mixed(5, maphash.String(s.seed, v)), size: size(v)}
	case []any:
		out = s.list(v)
	case map[string]any:
		out = s.object(v)
	default:
		return part{value: v, hash: 8}
	}
	if out.size < partFrom {
		return out
	}
	was, ok := s.known[out.hash]
	switch {
	case !ok:
		s.known[out.hash], s.fresh = out.value, append(s.fresh, out.hash)
		out.size += partSize
	case same(was, out.value):
		return part{value: was, changed: !identical(was, v), hash: out.hash}
	}
	return out
}

func (s *sharing) list(v []any) part {
	out, copied := part{value: v, hash: 6, size: size([]any(nil))}, v
	for i, one := range v {
		p := s.value(one)
		if p.changed {
			if !out.changed {
				copied, out.changed = slices.Clone(v), true
			}
			copied[i] = p.value
		}
		out.hash, out.size = mixed(out.hash, p.hash), out.size+16+p.size
	}
	out.value = copied
	return out
}

func (s *sharing) object(v map[string]any) part {
	out, copied := part{hash: 7, size: objectSize(len(v))}, v
	for name, one := range v {
		p := s.value(one)
		if p.changed {
			if !out.changed {
				copied, out.changed = maps.Clone(v), true
			}
			copied[name] = p.value
		}
		out.hash += mixed(maphash.String(s.seed, name), p.hash) // in whatever order
		out.size += 16 + len(name) + p.size
	}
	out.value = copied
	return out
}

// mixed combines two hashes.
func mixed(a, b uint64) uint64 {
	a = (a ^ b) * 0x9e3779b97f4a7c15
	return a ^ a>>29
}

// identical reports whether two objects or lists are the same one in memory.
func identical(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
	}
	return false
}

// same reports whether two values are equal in every detail.
func same(a, b any) bool {
	switch a := a.(type) {
	case nil, bool, json.Number, string:
		return a == b
	case []any:
		if identical(a, b) {
			return true
		}
		b, ok := b.([]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		if identical(a, b) {
			return true
		}
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for name, one := range a {
			if other, ok := b[name]; !ok || !same(one, other) {
				return false
			}
		}
		return true
	}
	return false
}
