package studylog

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strconv"

	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

// needs are the members by which the payload of a type is recognised (sections 4.1 and 4.2). Those of error are
// missing, because a profile may place them elsewhere.
var needs = map[string][]string{
	vocab.SessionStart: {"studyId", "participantId"}, vocab.ToolCall: {"toolName"}, vocab.AgentMessage: {"text"},
	vocab.SessionStarted: {"sessionId"}, vocab.SnapshotState: {"uiSpec", "messageHistory", "toolSchema"},
	vocab.ToolResult:   {"ok"},
	vocab.StateUpdated: {"uiSpec", "messageHistory", "toolSchema"}, vocab.UserMessage: {"text"},
	vocab.SessionEnded: {"sessionId", "stateReset"},
}

// wrapped finds a message's payload wrapped in the payload of a line of its type, one level deep: as in a whole
// envelope, or with the members by which such a payload is recognised, none of which is where it belongs. It returns
// "" if there is none.
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

// around finds the group of messages whose payload is wrapped in that of a line, one level deep. It ignores empty
// payloads, which would match anywhere.
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

// seed is random, so that a log with deliberate hash collisions is impossible.
var seed = maphash.MakeSeed()

// sumOf hashes a type and a payload. Payloads that are equal by wjson.Equal have equal hashes. Numbers are hashed as
// the nearest double.
func sumOf(typ string, payload any) uint64 { return mix('m', maphash.String(seed, typ), sum(payload)) }

func sum(v any) uint64 {
	switch v := v.(type) {
	case bool:
		if v {
			return mix('t', 0, 0)
		}
		return mix('f', 0, 0)
	case wjson.Number:
		f, _ := strconv.ParseFloat(string(v), 64) // a number that is too large becomes an infinity
		if f == 0 {
			f = 0 // no minus zero
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
