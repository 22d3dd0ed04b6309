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

	"parley/internal/cut"
	"parley/transcript"
	wjson "parley/wire/json"
)

// Difference is one place at which what came is not what was recorded.
type Difference struct {
	N        int    // number of the recorded record; 0: nothing like it was recorded
	Message  string // what it is about, for people: "A event agent_switched"
	At       string // JSON Pointer into the message; "" for the whole of it, "status", "content type"
	Recorded string // "" if it was not recorded
	Came     string // "" if it did not come
}

// String renders the difference on up to three lines, without a line end. It has no ids and times that are drawn anew.
func (d Difference) String() string {
	var b strings.Builder
	b.WriteString(d.Message)
	if d.N > 0 {
		fmt.Fprintf(&b, " (record %d)", d.N)
	}
	if d.At != "" {
		b.WriteString(" at " + d.At)
	}
	if d.Recorded != "" {
		b.WriteString("\n  - " + d.Recorded)
	}
	if d.Came != "" {
		b.WriteString("\n  + " + d.Came)
	}
	return b.String()
}

// maxShown bounds the characters of a value that is shown.
const maxShown = 400

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

func (i Ignore) whole(kind string) bool { return i.Pointer == "" && i.Type == kind }

func (i Ignore) covers(kind string, path []string) bool {
	if i.Type != "" && i.Type != kind || i.Pointer == "" {
		return false
	}
	want, _ := wjson.ParsePointer(i.Pointer)
	return len(want) <= len(path) && slices.EqualFunc(want, path[:len(want)],
		func(w, p string) bool { return w == "*" || w == p })
}

// typeOf returns the type of a message: the first of the members that name it.
func typeOf(body []byte) string {
	v, _, err := wjson.Decode(body)
	o, is := v.(wjson.Object)
	if err != nil || !is {
		return ""
	}
	for _, name := range []string{"type", "message_type", "event", "kind", "method"} {
		if s, ok := o[name].(string); ok {
			return s
		}
	}
	return ""
}

// comparison compares one recorded message with one that came.
type comparison struct {
	ids    *ids
	ignore []Ignore
	kind   string // type of the message
	path   []string
	found  []Difference
}

// maxDifferences bounds what is said about one message.
const maxDifferences = 100

func (c *comparison) differ(recorded, came string) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, Difference{At: wjson.FormatPointer(c.path...), Recorded: recorded, Came: came})
	}
}

// records compares two records.
func (c *comparison) records(want, got transcript.Record) []Difference {
	if want.Status != got.Status {
		c.found = append(c.found, Difference{At: "status", Recorded: strconv.Itoa(want.Status),
			Came: strconv.Itoa(got.Status)})
	}
	if want.Kind == transcript.Response && media(want.Type) != media(got.Type) ||
		want.Kind != transcript.Response && want.Kind != transcript.Open && want.Type != got.Type {
		c.found = append(c.found, Difference{At: "content type", Recorded: cmp.Or(want.Type, "none"),
			Came: cmp.Or(got.Type, "none")})
	}
	if want.Cut > 0 || want.Kind == transcript.Closed || want.Kind == transcript.Failure {
		return c.found
	}
	body := c.ids.renew(want.Bytes)
	w, _, wrong := wjson.Decode(body)
	g, _, broken := wjson.Decode(got.Bytes)
	switch {
	case wrong == nil && broken == nil:
		c.values(w, g)
	case !bytes.Equal(body, got.Bytes):
		c.differ(shown(string(want.Bytes)), shown(string(got.Bytes)))
	}
	return c.found
}

func media(t string) string {
	if m, _, err := mime.ParseMediaType(t); err == nil {
		return m
	}
	return t
}

func (c *comparison) values(want, got any) {
	if slices.ContainsFunc(c.ignore, func(i Ignore) bool { return i.covers(c.kind, c.path) }) {
		return
	}
	switch w := want.(type) {
	case wjson.Object:
		if g, ok := got.(wjson.Object); ok {
			c.objects(w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			c.arrays(w, g)
			return
		}
	case string:
		if g, ok := got.(string); ok && (w == g || c.mayDiffer(w, g)) {
			return
		}
	case wjson.Number:
		if g, ok := got.(wjson.Number); ok && (wjson.Equal(w, g) || instant(w) && instant(g) || c.duration()) {
			return
		}
	default:
		if wjson.Equal(want, got) {
			return
		}
	}
	c.differ(shown(c.ids.stable(want)), shown(c.ids.stable(got)))
}

// durations are the words by which members name how long something took.
var durations = regexp.MustCompile(`(?i)^(duration|elapsed|latency|took)(_?(ms|millis|s|sec|seconds))?$`)

// duration reports whether the member that is compared says how long something took.
func (c *comparison) duration() bool {
	return len(c.path) > 0 && durations.MatchString(c.path[len(c.path)-1])
}

func (c *comparison) inside(token string, do func()) {
	c.path = append(c.path, token)
	do()
	c.path = c.path[:len(c.path)-1]
}

func (c *comparison) objects(want, got wjson.Object) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, recorded := want[name]
		g, came := got[name]
		c.inside(name, func() { c.members(w, g, recorded, came) })
	}
}

// members compares two values of which one may be missing.
func (c *comparison) members(w, g any, recorded, came bool) {
	switch {
	case recorded && came:
		c.values(w, g)
	case slices.ContainsFunc(c.ignore, func(i Ignore) bool { return i.covers(c.kind, c.path) }):
	case recorded:
		c.differ(shown(c.ids.stable(w)), "")
	default:
		c.differ("", shown(c.ids.stable(g)))
	}
}

func (c *comparison) arrays(want, got []any) {
	for i := range max(len(want), len(got)) {
		c.inside(strconv.Itoa(i), func() {
			var w, g any
			if i < len(want) {
				w = want[i]
			}
			if i < len(got) {
				g = got[i]
			}
			c.members(w, g, i < len(want), i < len(got))
		})
	}
}

// mayDiffer reports whether two strings at the same place are both times, both ids of one thing, or what was redacted.
func (c *comparison) mayDiffer(want, got string) bool {
	if before, after, hidden := strings.Cut(want, transcript.Blank); hidden {
		return strings.HasPrefix(got, before) && strings.HasSuffix(got, lastPart(after))
	}
	return isTime(want) && isTime(got) || c.ids.learn(want, got)
}

// lastPart returns what stands behind the last redacted place of a text.
func lastPart(s string) string {
	if i := strings.LastIndex(s, transcript.Blank); i >= 0 {
		return s[i+len(transcript.Blank):]
	}
	return s
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// instant reports whether a number is a time of this century in seconds, milliseconds or smaller units since 1970.
func instant(n wjson.Number) bool {
	f, err := n.Float64()
	for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
		if seconds := f / unit; err == nil && seconds > 946_684_800 && seconds < 4_102_444_800 {
			return true
		}
	}
	return false
}

var timeText = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// shown is a value for people, on one line and bounded; times are left out.
func shown(s string) string {
	return cut.Text(transcript.Printable(timeText.ReplaceAllString(s, "«time»")), maxShown)
}
