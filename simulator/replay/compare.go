package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"mime"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/protocol/messages"
	"parley/transport/recording"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Ignore names what may differ: a JSON Pointer with * for any member or index, of one type of message or of all. An
// empty Pointer is the whole message, which then need not come, and may come unrecorded.
type Ignore struct{ Type, Pointer string }

// ParseIgnore reads POINTER, TYPE:POINTER or TYPE.
func ParseIgnore(text string) (Ignore, error) {
	kind, pointer, both := strings.Cut(text, ":")
	switch {
	case strings.HasPrefix(text, "/"):
		kind, pointer = "", text
	case text == "" || both && !strings.HasPrefix(pointer, "/"):
		return Ignore{}, fmt.Errorf("%q is none of /POINTER, TYPE:/POINTER and TYPE", text)
	}
	if _, err := wjson.ParsePointer(pointer); err != nil {
		return Ignore{}, fmt.Errorf("%q: %w", text, err)
	}
	return Ignore{Type: kind, Pointer: pointer}, nil
}

// String returns what ParseIgnore reads.
func (i Ignore) String() string {
	if i.Type == "" || i.Pointer == "" {
		return i.Type + i.Pointer
	}
	return i.Type + ":" + i.Pointer
}

func (i Ignore) ignoresWhole(kind string) bool { return i.Pointer == "" && i.Type == kind }

func (i Ignore) coversPath(kind string, path []string) bool {
	if i.Type != "" && i.Type != kind || i.Pointer == "" {
		return false
	}
	want, _ := wjson.ParsePointer(i.Pointer)
	return len(want) <= len(path) && slices.EqualFunc(want, path[:len(want)],
		func(w, p string) bool { return w == "*" || w == p })
}

// comparison compares one recorded message with one that came.
type comparison struct {
	ids    *ids
	set    *messages.Set // the protocol's; nil: none is known
	ignore []Ignore
	exact  bool   // a model's words must be equal
	apart  bool   // items of arrays of different lengths are compared with those that are equal, wherever they are
	server bool   // the message is one of the server
	kind   string // type of the message
	path   []string
	found  []Place
}

// maxPlaces bounds the places that are kept of one message.
const maxPlaces = 100

func (c *comparison) addDifference(recorded, came string) {
	if len(c.found) < maxPlaces {
		c.found = append(c.found, Place{At: wjson.FormatPointer(c.path...), Recorded: recorded, Came: came})
	}
}

// compareMessages compares two messages.
func (c *comparison) compareMessages(want, got message) []Place {
	c.set, c.server = want.set, want.rule != nil && want.rule.From == messages.Server
	if want.Status != got.Status && (want.Kind != transcript.Closed || want.Label != recording.ByServer) {
		c.found = append(c.found, Place{At: "status", Recorded: strconv.Itoa(want.Status),
			Came: strconv.Itoa(got.Status)})
	}
	if w, g := comparedType(want), comparedType(got); w != g {
		c.found = append(c.found, Place{At: "content type", Recorded: cmp.Or(w, "none"), Came: cmp.Or(g, "none")})
	}
	if want.Kind == transcript.Request && got.Kind == transcript.Open {
		c.found = append(c.found, Place{At: "Accept", Recorded: "any", Came: "text/event-stream"})
	}
	if want.Kind == transcript.Request || want.Kind == transcript.Open {
		if w, g := queryOf(want), queryOf(got); !c.ids.compareQueries(w, g) {
			c.found = append(c.found, Place{At: "query", Recorded: cmp.Or(w, "none"), Came: cmp.Or(g, "none")})
		}
	}
	if want.Cut > 0 || want.Kind == transcript.Closed || want.Kind == transcript.Failure ||
		want.Kind == transcript.Open {
		return c.found
	}
	switch {
	case want.json && got.json:
		c.compareValues(want.value, got.value, want.rule.Node())
	case bytes.Equal(want.Bytes, got.Bytes):
	case want.Type == "binary" || !c.ids.compareTexts(string(want.Bytes), string(got.Bytes)):
		c.addDifference(showValue(string(want.Bytes)), showValue(c.ids.renderReceived(got.Bytes)))
	}
	return c.found
}

// queryOf returns the query of a request or opening.
func queryOf(m message) string {
	_, query, _ := strings.Cut(strings.TrimSuffix(m.Label, " (upgrade)"), "?")
	query, _, _ = strings.Cut(query, " ") // what follows is for people
	return query
}

// comparedType returns what is compared of a record's type: that of a request is a label for people.
func comparedType(m message) string {
	switch m.Kind {
	case transcript.Request:
		return ""
	case transcript.Response, transcript.Open:
		if t, _, err := mime.ParseMediaType(m.Type); err == nil {
			return t
		}
	}
	return m.Type
}

func (c *comparison) isIgnored() bool {
	return slices.ContainsFunc(c.ignore, func(i Ignore) bool { return i.coversPath(c.kind, c.path) })
}

func (c *comparison) compareValues(want, got any, n *messages.Node) {
	if c.isIgnored() {
		return
	}
	switch w := want.(type) {
	case wjson.Object:
		if g, ok := got.(wjson.Object); ok && !variesAs(n, messages.Any) {
			c.compareObjects(w, g, n)
			return
		}
	case []any:
		if g, ok := got.([]any); ok && !variesAs(n, messages.Any) {
			c.compareArrays(w, g, n)
			return
		}
	}
	if !c.compareLeaves(want, got, n) {
		c.addDifference(showValue(wjson.Compact(want)), showValue(c.ids.renderStable(got)))
		c.found[len(c.found)-1].Maybe = n == nil && len(c.path) > 0 && mayBeNumbers(want, got)
	}
}

// mayBeNumbers reports whether two values might be counters, times or short ids: numbers, or words with digits.
func mayBeNumbers(want, got any) bool {
	if w, is := want.(string); is {
		g, too := got.(string)
		return too && strings.ContainsAny(w, digits) && strings.ContainsAny(g, digits)
	}
	return wjson.Kind(want) == "number" && wjson.Kind(got) == "number"
}

const digits = "0123456789"

func variesAs(n *messages.Node, as messages.Varies) bool { return n != nil && n.Varies == as }

// compareLeaves reports whether two values without members of interest are the same, or may differ.
func (c *comparison) compareLeaves(want, got any, n *messages.Node) bool {
	if n != nil && n.Varies != "" {
		return c.compareByRule(want, got, n.Varies)
	}
	if n != nil { // the schema names it, and it does not vary
		w, is := want.(string)
		g, too := got.(string)
		if is && too {
			return w == g || string(c.ids.renewText([]byte(w))) == g || strings.Contains(w, transcript.Blank) &&
				c.ids.compareTexts(w, g)
		}
		return wjson.Equal(want, got)
	}
	if _, is := c.set.IDAt(c.path); is {
		return c.compareByRule(want, got, messages.ID)
	}
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		return ok && c.ids.compareTexts(w, g)
	case wjson.Number:
		g, ok := got.(wjson.Number)
		return ok && (wjson.Equal(w, g) || isTimestamp(w) && isTimestamp(g) || c.isDuration())
	}
	return wjson.Equal(want, got)
}

// compareByRule reports whether two values are the same or differ as a schema allows.
func (c *comparison) compareByRule(want, got any, as messages.Varies) bool {
	if w, is := want.(string); is && strings.Contains(w, transcript.Blank) {
		g, too := got.(string)
		return too && c.ids.compareTexts(w, g)
	}
	switch as {
	case messages.ID, messages.ClientID:
		w, is := idText(want)
		g, too := idText(got)
		if !is || !too || wjson.Kind(want) != wjson.Kind(got) {
			return wjson.Equal(want, got)
		}
		if as == messages.ClientID && c.server { // it draws none
			return c.ids.presentID(c.idScope(), w) == g
		}
		return c.ids.sameID(c.idScope(), w, g, true)
	case messages.Time:
		w, is := want.(string)
		g, too := got.(string)
		if is && too {
			return isTime(w) == isTime(g)
		}
		return wjson.Kind(want) == wjson.Kind(got)
	case messages.Duration:
		return wjson.Kind(want) == wjson.Kind(got)
	case messages.Words:
		w, is := want.(string)
		g, too := got.(string)
		if c.exact || !is || !too {
			return is == too && (wjson.Equal(want, got) || is && c.ids.compareTexts(w, g) || !is && !c.exact)
		}
		return (w == "") == (g == "")
	default: // messages.Any
		return !c.exact && (want == nil) == (got == nil) || wjson.Equal(want, got)
	}
}

// memberName is the name of the member that is compared.
func (c *comparison) memberName() string {
	for i := len(c.path) - 1; i >= 0; i-- {
		if _, err := strconv.Atoi(c.path[i]); err != nil {
			return c.path[i]
		}
	}
	return ""
}

// idScope is the scope of the id that is compared.
func (c *comparison) idScope() string {
	if name, is := c.set.IDAt(c.path); is {
		return scopeOf(name)
	}
	return scopeOf(c.memberName())
}

// durations are the words by which members name how long something took.
var durations = regexp.MustCompile(`(?i)^(duration|elapsed|latency|took)(_?(ms|millis|s|sec|seconds))?$`)

// isDuration reports whether the member that is compared says how long something took.
func (c *comparison) isDuration() bool { return durations.MatchString(c.memberName()) }

func (c *comparison) compareInside(token string, do func()) {
	c.path = append(c.path, token)
	do()
	c.path = c.path[:len(c.path)-1]
}

func (c *comparison) compareObjects(want, got wjson.Object, n *messages.Node) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, recorded := want[name]
		g, came := got[name]
		c.compareInside(name, func() { c.compareMembers(w, g, recorded, came, n.Member(name)) })
	}
}

// compareMembers compares two values of which one may be missing.
func (c *comparison) compareMembers(w, g any, recorded, came bool, n *messages.Node) {
	switch {
	case recorded && came:
		c.compareValues(w, g, n)
	case c.isIgnored():
	case recorded:
		c.addDifference(showValue(wjson.Compact(w)), "")
	default:
		c.addDifference("", showValue(c.ids.renderStable(g)))
	}
}

func (c *comparison) compareArrays(want, got []any, n *messages.Node) {
	if c.apart && len(want) != len(got) && len(want)*len(got) <= maxItems {
		want, got = c.dropEqualItems(want, got, n)
	}
	for i := range max(len(want), len(got)) {
		c.compareInside(strconv.Itoa(i), func() {
			var w, g any
			if i < len(want) {
				w = want[i]
			}
			if i < len(got) {
				g = got[i]
			}
			c.compareMembers(w, g, i < len(want), i < len(got), n.Item())
		})
	}
}

// maxItems bounds the pairs of items that are tried.
const maxItems = 10_000

// dropEqualItems leaves out items that are equal, in their order.
func (c *comparison) dropEqualItems(want, got []any, n *messages.Node) (w, g []any) {
	at := 0
	for _, one := range want {
		next := slices.IndexFunc(got[at:], func(other any) bool { return c.isSame(one, other, n.Item()) })
		if next < 0 {
			w = append(w, one)
			continue
		}
		g = append(g, got[at:at+next]...)
		at += next + 1
	}
	return w, append(g, got[at:]...)
}

// isSame reports whether two items would be no difference.
func (c *comparison) isSame(want, got any, n *messages.Node) bool {
	try := comparison{ids: c.ids, set: c.set, ignore: c.ignore, exact: c.exact, server: c.server,
		kind: c.kind, path: slices.Clone(c.path)}
	c.ids.tryForgetting(func() { try.compareInside("*", func() { try.compareValues(want, got, n) }) })
	return len(try.found) == 0
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// isTimestamp reports whether a number is a time of this century in seconds, milliseconds or smaller units since 1970.
func isTimestamp(n wjson.Number) bool {
	f, err := n.Float64()
	for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
		if seconds := f / unit; err == nil && seconds > 946_684_800 && seconds < 4_102_444_800 {
			return true
		}
	}
	return false
}

var timeText = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// Bounds of what is read ahead.
const (
	maxAhead      = 64 // records
	maxAheadBytes = 4 << 20
)

// lookahead reads a recording, and looks ahead.
type lookahead struct {
	in    *recording.ClientView
	queue []transcript.Record
	size  int   // bytes of queue
	err   error // of reading ahead
}

// nextUntaken returns the next record that was not taken.
func (a *lookahead) nextUntaken() (transcript.Record, error) {
	if len(a.queue) > 0 {
		r := a.queue[0]
		a.queue = a.queue[1:]
		a.size -= len(r.Bytes)
		return r, nil
	}
	if a.err != nil {
		return transcript.Record{}, a.err
	}
	return a.in.Next()
}

// takeFirst takes the first record ahead for which want holds; false if there is none within the bounds.
func (a *lookahead) takeFirst(want func(transcript.Record) bool) (transcript.Record, bool) {
	for i := 0; ; i++ {
		if i == len(a.queue) && !a.readMore() {
			return transcript.Record{}, false
		}
		if r := a.queue[i]; want(r) {
			a.queue = slices.Delete(a.queue, i, i+1)
			a.size -= len(r.Bytes)
			return r, true
		}
	}
}

func (a *lookahead) readMore() bool {
	if a.err != nil || len(a.queue) >= maxAhead || a.size >= maxAheadBytes {
		return false
	}
	r, err := a.in.Next()
	if err != nil {
		a.err = err
		return false
	}
	a.queue = append(a.queue, r)
	a.size += len(r.Bytes)
	return true
}
