package studylog

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

// counts reports whether a number is a 64-bit integer, however its literal is written.
func counts(n wjson.Number) bool {
	d, exact, _ := wjson.DecimalOf(n)
	if !exact || d.Exponent < 0 || d.Exponent+int64(len(d.Digits)) > 19 {
		return exact && d.Digits == ""
	}
	sign := ""
	if d.Negative {
		sign = "-"
	}
	_, err := strconv.ParseInt(sign+d.Digits+strings.Repeat("0", int(d.Exponent)), 10, 64)
	return err == nil || d.Digits == ""
}

// compare compares two numbers to their last digit. told is false if an exponent is too large for that.
func compare(a, b wjson.Number) (order int, told bool) {
	x, exactX, _ := wjson.DecimalOf(a)
	y, exactY, _ := wjson.DecimalOf(b)
	if !exactX || !exactY {
		return 0, false
	}
	sign := func(d wjson.Decimal) int {
		switch {
		case d.Digits == "":
			return 0
		case d.Negative:
			return -1
		}
		return 1
	}
	if order = cmp.Compare(sign(x), sign(y)); order != 0 || sign(x) == 0 {
		return order, true
	}
	// Compare the place of the first digit, and then the digits as texts.
	order = cmp.Or(cmp.Compare(x.Exponent+int64(len(x.Digits)), y.Exponent+int64(len(y.Digits))),
		strings.Compare(x.Digits, y.Digits))
	return order * sign(x), true
}

// ISO 8601 dates and times in the extended and the basic form; the zone designator comes last.
var (
	extended = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)` +
		`(?::(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d(?::\d\d)?)?$`)
	basic = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(?:(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d(?:\d\d)?)?$`)
)

// example is the form of the source's timestamps.
const example = "2006-01-02T15:04:05.000Z"

// instant describes what is odd about a timestamp, or returns "" for an ISO 8601 time in UTC. asExample reports
// whether it has the form of the example.
func instant(s string) (odd string, asExample bool) {
	if len(s) == len(example) && s[19] == '.' {
		if _, err := time.Parse(example, s); err == nil {
			return "", true
		}
	}
	const most = 64 // a fraction may have many digits, but not arbitrarily many
	m := extended.FindStringSubmatch(s)
	if m == nil {
		m = basic.FindStringSubmatch(s)
	}
	switch {
	case m == nil || len(s) > most:
		return "not a date and time of ISO 8601", false
	case !exists(m[1:7]):
		return "not a valid time", false
	case m[7] == "":
		return "without a zone", false
	case strings.Trim(m[7], "Zz+-0:") != "":
		return "not in UTC", false
	}
	return "", false
}

// exists reports whether a date and time are valid. ISO 8601 allows 24:00, and UTC a second 60.
func exists(parts []string) bool {
	var n [6]int
	for i, p := range parts {
		n[i], _ = strconv.Atoi(p) // digits or empty
	}
	day := time.Date(n[0], time.Month(n[1]), n[2], 0, 0, 0, 0, time.UTC)
	midnight := n[3] == 24 && n[4] == 0 && n[5] == 0
	return day.Month() == time.Month(n[1]) && day.Day() == n[2] && (n[3] < 24 || midnight) && n[4] < 60 && n[5] <= 60
}

// senders says which side sends each type, as the host sees it (sections 4.1 and 4.2).
var senders = map[string]string{
	vocab.SessionStart: vocab.In, vocab.SnapshotGet: vocab.In, vocab.ToolCall: vocab.In, vocab.AgentMessage: vocab.In,
	vocab.SessionEnd: vocab.In,

	vocab.SessionStarted: vocab.Out, vocab.SnapshotState: vocab.Out, vocab.ToolResult: vocab.Out,
	vocab.StateUpdated: vocab.Out,
	vocab.UserMessage:  vocab.Out, vocab.SessionEnded: vocab.Out, vocab.ErrorMessage: vocab.Out,
}

// right returns the direction of a type, or "" for types with a free direction.
func right(typ string) string { return senders[typ] }

var sender = map[string]string{vocab.In: "an agent", vocab.Out: "a host"}

// window finds lines with the wrong direction (EA-091), if no line with the same type and payload has the right one.
// The lines of a message are close together, so remembering the latest 65536 distinct messages is enough.
type window struct {
	size     int
	compared bool // the messages on the wire are known
	seen     map[uint64]*logged
	ring     []uint64 // in order of arrival
	next     int

	internal int  // the first internal line of a type that has a direction, or 0
	other    bool // there are such lines with in or out
}

// logged is the state of the lines with one type and payload.
type logged struct {
	typ   string
	right bool // one of them has the right direction
	wrong int  // the first line with the wrong direction, or 0
	count int  // number of such lines
}

func newWindow(size int) *window { return &window{size: size, seen: map[uint64]*logged{}} }

// line takes a line. sent reports whether its message went over the wire in that direction, whoever may send its
// type.
func (w *window) line(b *book, sum uint64, typ, direction string, sent bool, line int) {
	want := right(typ)
	if want == "" {
		return
	}
	if direction == vocab.Internal {
		if w.internal == 0 {
			w.internal = line
		}
		return
	}
	w.other = true
	if sent {
		want = direction
	}
	// An agent may send a host's message by mistake, which is received and refused.
	if want == vocab.Out && direction == vocab.In && !w.compared {
		return
	}
	m := w.seen[sum]
	if m == nil {
		m = w.add(b, sum, typ)
	}
	if direction == want {
		m.right = true
		b.kept("EA-091", line)
		return
	}
	if m.count++; m.wrong == 0 {
		m.wrong = line
	}
}

func (w *window) add(b *book, sum uint64, typ string) *logged {
	m := &logged{typ: typ}
	if len(w.ring) < w.size {
		w.ring = append(w.ring, sum)
	} else {
		w.seen[w.ring[w.next]].judge(b)
		delete(w.seen, w.ring[w.next])
		w.ring[w.next] = sum
		w.next = (w.next + 1) % w.size
	}
	w.seen[sum] = m
	return m
}

func (m *logged) judge(b *book) {
	if m.right || m.wrong == 0 {
		return
	}
	want := right(m.typ)
	other := vocab.In
	if want == vocab.In {
		other = vocab.Out
	}
	found := fmt.Sprintf("%q, and no line with the same payload and %q", other, want)
	if m.count > 1 {
		found = fmt.Sprintf("%q on %d lines with the same payload, and none with %q", other, m.count, want)
	}
	b.breaks(Finding{Clause: "EA-091", Line: m.wrong, Expected: fmt.Sprintf("direction %q of type %s, which %s sends",
		want, m.typ, sender[want]), Observed: found})
}

// end judges the remaining lines.
func (w *window) end(b *book) {
	for _, sum := range w.ring {
		w.seen[sum].judge(b)
	}
}

// alone judges that not all lines of sent or received types are internal, which would show no direction. No single line
// is at fault, because a host may have internal events of such types.
func (w *window) alone(b *book) {
	if w.internal > 0 && !w.other {
		b.breaks(Finding{Clause: "EA-091", Line: w.internal,
			Expected: `lines with direction "in" or "out" for what was received and sent`,
			Observed: `every line of a type of a message is "internal"`})
	}
}

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
		if name == "payload" && payload[vocab.Type] == typ {
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

// owner says to which session a line belongs. A file may hold several sessions, whether or not one is expected.
type owner int

const (
	mine    owner = iota // of the expected session or, if none is expected, of the session that it names
	nobodys              // without a session: the expected one's, unless the file has others
	others               // of another session, and not judged
)

// ownerOf returns the owner of an event by its sessionId.
func (c *checker) ownerOf(event wjson.Object) owner {
	id, named := event[vocab.SessionID].(string)
	switch {
	case !named:
		return nobodys
	case c.o.Session != "" && id != c.o.Session:
		return others
	}
	return mine
}

// shared reports whether the file holds sessions other than the expected one.
func (c *checker) shared() bool { return c.strange > 0 }

// stranger takes a line of another session. It may be a line of the expected session logged under a wrong id.
func (c *checker) stranger(event wjson.Object) {
	id := event[vocab.SessionID].(string)
	c.known(id)
	if c.strange++; c.strange == 1 {
		c.other, c.otherAt = id, c.number()
	}
	typ, _ := event[vocab.Type].(string)
	direction, _ := event["direction"].(string)
	if payload, ok := event[vocab.Payload].(wjson.Object); ok && c.wire.knows(typ) {
		c.wire.elsewhere(sumOf(typ, payload), typ, direction, payload, c.number(), id)
	}
}

// settleOwners decides at the end to which session the lines without one belong, and judges whether the expected
// session has its own lines (EA-086).
func (c *checker) settleOwners() {
	if !c.shared() {
		if len(c.last) <= 1 || c.o.Session != "" { // otherwise their order among several sessions is undefined
			c.book.merge(c.loose)
		}
		c.wire.merge()
		return
	}
	if n := c.loose.count(); n > 0 {
		c.book.note(0, "lines that name no session are not judged, because the file contains several sessions")
	}
	if c.owned == 0 {
		c.book.breaks(Finding{Clause: "EA-086", Line: c.otherAt,
			Expected: fmt.Sprintf("sessionId %s, the session's", show(c.o.Session)), Observed: show(c.other)})
		c.book.note(0, "no line has the sessionId of the session: "+show(c.o.Session))
		c.wire.adopt()
	}
}

// known records the ids to report.
func (c *checker) known(id string) {
	if s := &c.report.Sessions; len(*s) < maxSessions {
		short := plain(id)
		for _, old := range *s {
			if old == short {
				return
			}
		}
		*s = append(*s, short)
	}
}

// place is an eventIndex and its line.
type place struct {
	index wjson.Number
	line  int
}

// ordered judges that the index of a line is above that of the previous line of the same session (EA-088). Lines
// without a session belong to the file's only session; with several sessions they cannot be judged.
func (c *checker) ordered(n wjson.Number, id string, who owner) {
	here := place{n, c.number()}
	before, seen := c.last[id]
	if who == nobodys {
		before, seen = c.latest, c.latest.line > 0
	}
	if who == nobodys || c.latestLoose && before.line < c.latest.line {
		c.compare(c.loose, c.latest, here)
	}
	if who == mine && seen {
		c.compare(c.book, before, here)
	}
	if who == mine && (seen || len(c.last) < maxTracked) {
		c.last[id] = here
	}
	c.latest, c.latestLoose = here, who == nobodys
}

func (c *checker) compare(b *book, before, here place) {
	if before.line == 0 {
		return
	}
	switch order, told := compare(before.index, here.index); {
	case !told:
		c.book.note(here.line, "eventIndex is too large to be compared")
	case order < 0:
		b.kept("EA-088", here.line)
	default:
		b.breaks(Finding{Clause: "EA-088", Line: here.line, Expected: fmt.Sprintf("eventIndex above %s, that of line %d",
			show(before.index), before.line), Observed: show(here.index)})
	}
}
