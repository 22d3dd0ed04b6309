package studylog

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strconv"

	vocab "parley/protocol/externalagent"
	wjson "parley/wire/json"
)

// needs are the members by which the payload of a type is known, sections 4.1 and 4.2. Those of error are not among
// them: a profile may have them elsewhere.
var needs = map[string][]string{
	vocab.SessionStart: {"studyId", "participantId"}, vocab.ToolCall: {"toolName"}, vocab.AgentMessage: {"text"},
	vocab.SessionStarted: {"sessionId"}, vocab.SnapshotState: {"uiSpec", "messageHistory", "toolSchema"},
	vocab.ToolResult:   {"ok"},
	vocab.StateUpdated: {"uiSpec", "messageHistory", "toolSchema"}, vocab.UserMessage: {"text"},
	vocab.SessionEnded: {"sessionId", "stateReset"},
}

// wrapped finds the payload of a message within what stands for it on a line, one level deep: of the line's own type,
// as the whole envelope would have it, or with the members by which such a payload is known, none of which stands where
// it is due. "" where there is none.
func wrapped(typ string, payload wjson.Object) (pointer string) {
	for _, name := range slices.Sorted(maps.Keys(payload)) {
		inner, ok := payload[name].(wjson.Object)
		if !ok {
			continue
		}
		if name == "payload" && payload["type"] == typ {
			return wjson.FormatPointer(name)
		}
		known := needs[typ]
		has := func(o wjson.Object) func(string) bool {
			return func(member string) bool { _, there := o[member]; return there }
		}
		if len(known) == 0 || slices.ContainsFunc(known, has(payload)) {
			continue
		}
		if !slices.ContainsFunc(known, func(member string) bool { return !has(inner)(member) }) {
			return wjson.FormatPointer(name)
		}
	}
	return ""
}

// around finds the group of messages whose payload stands within that of a line, one level deep. An empty payload
// stands anywhere.
func (w *wire) around(typ, direction string, payload wjson.Object) (*group, string) {
	for _, name := range slices.Sorted(maps.Keys(payload)) {
		inner, ok := payload[name].(wjson.Object)
		if !ok || len(inner) == 0 {
			continue
		}
		if g := w.find(sumOf(typ, inner), typ, inner); g != nil && len(g.sent[direction]) > 0 {
			return g, wjson.FormatPointer(name)
		}
	}
	return nil, ""
}

// seed makes sums such that nobody can write a log whose sums collide.
var seed = maphash.MakeSeed()

// sumOf is equal for a type and payloads that wjson.Equal holds to be equal, and for others hardly ever. Numbers count
// as the doubles that they are closest to.
func sumOf(typ string, payload any) uint64 { return mix('m', maphash.String(seed, typ), sum(payload)) }

func sum(v any) uint64 {
	switch v := v.(type) {
	case bool:
		if v {
			return mix('t', 0, 0)
		}
		return mix('f', 0, 0)
	case wjson.Number:
		f, _ := strconv.ParseFloat(string(v), 64) // what is too large is an infinity
		if f == 0 {
			f = 0 // and not minus zero
		}
		return mix('n', math.Float64bits(f), 0)
	case string:
		return mix('s', maphash.String(seed, v), 0)
	case []any:
		all := uint64(len(v))
		for _, x := range v {
			all = mix('a', all, sum(x))
		}
		return mix('A', all, 0)
	case wjson.Object:
		all := uint64(len(v))
		for key, x := range v {
			all += mix('k', maphash.String(seed, key), sum(x)) // in any order
		}
		return mix('O', all, 0)
	}
	return mix('0', 0, 0)
}

func mix(kind byte, a, b uint64) uint64 {
	var buf [17]byte
	buf[0] = kind
	binary.LittleEndian.PutUint64(buf[1:], a)
	binary.LittleEndian.PutUint64(buf[9:], b)
	return maphash.Bytes(seed, buf[:])
}
