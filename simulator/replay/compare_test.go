package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/transcript"
)

func frame(text string) transcript.Record {
	return transcript.Record{N: 3, Conn: "A", Dir: transcript.Received, Kind: transcript.Frame, Type: "text",
		Bytes: []byte(text)}
}

// TestCompare checks what may differ, and that nothing else may.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		reason, recorded, came string
		ignore                 string
		want                   string // the differences' places, recorded and came; "": equal
	}{
		{"equal, in another order", `{"type":"a","x":1}`, `{"x":1.0,"type":"a"}`, "", ""},
		{"a word", `{"id":"debugger"}`, `{"id":"plan"}`, "", `/id "debugger" "plan"`},
		{"words that are as long", `{"id":"requirement_analyzer"}`, `{"id":"architecture_planner"}`, "",
			`/id "requirement_analyzer" "architecture_planner"`},
		{"a random id", `{"id":"conn_SOP34PLKMHZIAVA3FDUZ"}`, `{"id":"conn_XEQX4VZDXVYLLTWHFMDF"}`, "", ""},
		{"a UUID", `{"id":"081a83e8-6390-4f43-bb9c-5013e0000000"}`, `{"id":"0f1a83e8-aaaa-4f43-bb9c-5013e0000001"}`, "", ""},
		{"an id of another kind", `{"id":"conn_SOP34PLKMHZIAVA3FDUZ"}`, `{"id":"sess_XEQX4VZDXVYLLTWHFMDF"}`, "",
			`/id "conn_SOP34PLKMHZIAVA3FDUZ" "sess_XEQX4VZDXVYLLTWHFMDF"`},
		{"a shorter id", `{"id":"conn_SOP34PLKMHZIAVA3FDUZ"}`, `{"id":"conn_XEQX4VZ"}`, "",
			`/id "conn_SOP34PLKMHZIAVA3FDUZ" "conn_XEQX4VZ"`},
		{"one id that became two", `["A1B2C3D4E5","A1B2C3D4E5"]`, `["F1B2C3D4E5","G1B2C3D4E5"]`, "",
			`/1 "A1B2C3D4E5" "G1B2C3D4E5"`},
		{"two ids that became one", `["A1B2C3D4E5","B1B2C3D4E5"]`, `["F1B2C3D4E5","F1B2C3D4E5"]`, "",
			`/1 "B1B2C3D4E5" "A1B2C3D4E5"`},
		{"times", `{"t":"2026-11-23T21:32:50.475Z"}`, `{"t":"2027-01-01T00:00:00Z"}`, "", ""},
		{"a time and none", `{"t":"2026-11-23T21:32:50.475Z"}`, `{"t":"now"}`, "", `/t "«time»" "now"`},
		{"milliseconds since 1970", `{"t":1763933570475}`, `{"t":1763999999999}`, "", ""},
		{"a number", `{"n":1}`, `{"n":2}`, "", `/n 1 2`},
		{"a duration", `{"duration_ms":1}`, `{"duration_ms":2}`, "", ""},
		{"a duration that is not a number", `{"duration_ms":1}`, `{"duration_ms":"2"}`, "", `/duration_ms 1 "2"`},
		{"a kind", `{"n":1}`, `{"n":"1"}`, "", `/n 1 "1"`},
		{"null and missing", `{"n":null}`, `{}`, "", `/n null `},
		{"more", `[1]`, `[1,2]`, "", `/1  2`},
		{"ignored", `{"type":"a","x":{"y":1}}`, `{"type":"a","x":{"y":2}}`, "/x", ""},
		{"ignored anywhere", `{"x":[{"y":1},{"y":2}]}`, `{"x":[{"y":3},{"y":4}]}`, "/x/*/y", ""},
		{"ignored in this type", `{"type":"a","x":1}`, `{"type":"a"}`, "a:/x", ""},
		{"ignored in another type", `{"type":"a","x":1}`, `{"type":"a","x":2}`, "b:/x", `/x 1 2`},
		{"redacted", `{"x":"key «redacted» end"}`, `{"x":"key abc end"}`, "", ""},
		{"redacted, and another", `{"x":"key «redacted» end"}`, `{"x":"word abc end"}`, "",
			`/x "key «redacted» end" "word abc end"`},
		{"no JSON", `hello`, `hullo`, "", ` hello hullo`},
		{"no longer JSON", `{}`, `{`, "", ` {} {`},
	} {
		var r rules
		want, got := r.decodeRecord(frame(c.recorded)), r.decodeRecord(frame(c.came))
		two := comparison{ids: newIDs(), kind: want.name}
		if c.ignore != "" {
			i, err := ParseIgnore(c.ignore)
			if err != nil {
				t.Fatal(err)
			}
			two.ignore = []Ignore{i}
		}
		var all []string
		for _, d := range two.compareMessages(want, got) {
			all = append(all, fmt.Sprintf("%s %s %s", d.At, d.Recorded, d.Came))
		}
		if diff := cmp.Diff(c.want, strings.Join(all, "\n")); diff != "" {
			t.Errorf("%s:\n%s", c.reason, diff)
		}
	}
}

// TestEnvelope checks that status and content type count, and parameters of a media type do not.
func TestEnvelope(t *testing.T) {
	answer := func(status int, media string) transcript.Record {
		return transcript.Record{Kind: transcript.Response, Status: status, Type: media, Bytes: []byte("{}")}
	}
	for _, c := range []struct {
		came transcript.Record
		want int
	}{
		{answer(200, "application/json; charset=utf-8"), 0},
		{answer(201, "application/json"), 1},
		{answer(404, "text/plain"), 2},
	} {
		two, r := comparison{ids: newIDs()}, rules{}
		if got := two.compareMessages(r.decodeRecord(answer(200, "application/json")),
			r.decodeRecord(c.came)); len(got) != c.want {
			t.Errorf("%d %s: %v", c.came.Status, c.came.Type, got)
		}
	}
}

// TestIgnoreRefuses checks what --ignore does not take.
func TestIgnoreRefuses(t *testing.T) {
	for _, text := range []string{"", "a:", "a:b", "/~2"} {
		if i, err := ParseIgnore(text); err == nil {
			t.Errorf("%q: %+v", text, i)
		}
	}
}

// TestPair checks which messages are paired.
func TestPair(t *testing.T) {
	records := func(types string) (out []message) {
		for _, name := range types {
			out = append(out, rules{}.decodeRecord(frame(fmt.Sprintf(`{"type":"%c"}`, name))))
		}
		return out
	}
	for _, c := range []struct {
		want, came string
		pairs      [][2]int
	}{
		{"abc", "abc", [][2]int{{0, 0}, {1, 1}, {2, 2}}},
		{"abc", "ac", [][2]int{{0, 0}, {2, 1}}},
		{"ac", "axcz", [][2]int{{0, 0}, {1, 2}}},
		{"xabc", "abcx", [][2]int{{1, 0}, {2, 1}, {3, 2}}},
		{"ab", "", nil},
	} {
		if diff := cmp.Diff(c.pairs, longestPairs(records(c.want), records(c.came))); diff != "" {
			t.Errorf("%s, %s:\n%s", c.want, c.came, diff)
		}
	}
}

// TestIDsAreForgotten checks that the ids in memory are bounded, and the newest are kept.
func TestIDsAreForgotten(t *testing.T) {
	known := newIDs()
	id := func(mark string, n int) string { return fmt.Sprintf("%sid%010dx", mark, n) }
	for n := range 3 * maxIDs {
		if !known.sameID("", id("a", n), id("b", n), false) {
			t.Fatalf("%d was not learnt", n)
		}
	}
	if len(known.now) != maxIDs || len(known.then) != maxIDs || len(known.oldest.keys) > 2*maxIDs {
		t.Errorf("%d, %d, %d", len(known.now), len(known.then), len(known.oldest.keys))
	}
	last := 3*maxIDs - 1
	if got := string(known.renewText([]byte("x/" + id("a", last) + "?"))); got != "x/"+id("b", last)+"?" {
		t.Error(got)
	}
}
