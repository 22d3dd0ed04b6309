package studylog

import (
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// event returns a line of a log with its end. change has pairs of old and new text to replace.
func event(index int, direction, typ, payload string, change ...string) string {
	s := fmt.Sprintf(`{"sessionId":"s-1","eventIndex":%d,"timestamp":"2026-02-13T10:22:17.123Z","direction":%q,`+
		`"type":%q,"payload":%s}`+"\n", index, direction, typ, payload)
	return strings.NewReplacer(change...).Replace(s)
}

// String returns the finding on one line, for the author of the log.
func (f Finding) String() string {
	at := ""
	if f.Line > 0 {
		at = fmt.Sprintf("line %d: ", f.Line)
	}
	if f.OK {
		return fmt.Sprintf("%s: %s", f.Clause, f.Observed)
	}
	return fmt.Sprintf("%s%s: expected %s; found %s", at, f.Clause, f.Expected, f.Observed)
}

// one returns a log of one line with replacements.
func one(old, new string) string { return event(1, "internal", "note", "{}", old, new) }

// failures returns the findings without OK as text.
func failures(r Report) []string {
	var out []string
	for _, f := range r.Findings {
		if !f.OK {
			out = append(out, f.String())
		}
	}
	return out
}

// kept returns the clauses that were kept.
func kept(r Report) string {
	var out []string
	for _, f := range r.Findings {
		if f.OK {
			out = append(out, strings.TrimPrefix(f.Clause, "EA-"))
		}
	}
	return strings.Join(out, " ")
}

// texts returns notes as text.
func texts(notes []Note) []string {
	var out []string
	for _, n := range notes {
		out = append(out, n.String())
	}
	return out
}

const (
	fine        = "085 086 087 089 090 092 093" // kept by one line of a type unknown to the source
	noTime      = "expected timestamp, a text or a number; found "
	noIndex     = "line 1: EA-087: expected eventIndex, a number; found "
	noDirection = `line 1: EA-090: expected direction, which is "in", "out" or "internal"; found `
	noInteger   = "line 1: eventIndex is not an integer of 64 bits"
	form        = "line 1: timestamp has another form than the source's example, which has milliseconds and Z"
)

// timed returns a log of one line with the given timestamp.
func timed(stamp string) string { return one("2026-02-13T10:22:17.123Z", stamp) }

var logs = []struct {
	reason string
	in     string
	o      Options
	want   []string // failures
	kept   string
	notes  []string
	torn   bool
}{
	{reason: "an empty file passes nothing"},
	{reason: "nor does one of an ended session, which must have been written", o: Options{Complete: true},
		want: []string{"EA-010: expected the log of a session that has ended; found a log without events"}},
	{reason: "a line with the six fields", in: one("", ""), kept: fine},
	{reason: "two lines tell an order", in: event(1, "internal", "a", "{}") + event(2, "internal", "a", "{}"),
		kept: "085 086 087 088 089 090 092 093"},
	{reason: "other fields are fine", in: one(`"payload"`, `"v":"mvp-0.2","payload"`), kept: fine},

	// EA-085: lines.
	{reason: "the last line may lack its end", in: strings.TrimSuffix(one("", ""), "\n"), kept: fine},
	{reason: "CRLF is white space", in: one("\n", "\r\n") + event(2, "internal", "a", "{}", "\n", "\r\n"),
		kept:  "085 086 087 088 089 090 092 093",
		notes: []string{"line 1: the line ends in CRLF (2 times)"}},
	{reason: "an empty line is no event", in: one("", "") + "\n", kept: fine,
		want: []string{"line 2: EA-085: expected a JSON object; found an empty line"}},
	{reason: "nor is a line of white space", in: " \t\r\n" + one("", ""), kept: fine,
		want:  []string{"line 1: EA-085: expected a JSON object; found an empty line"},
		notes: []string{"line 1: the line ends in CRLF"}},
	{reason: "a byte order mark", in: "\xEF\xBB\xBF" + one("", ""), kept: "086 087 089 090 092 093",
		want: []string{`line 1: EA-085: expected UTF-8 without a byte order mark; found a byte order mark before ` +
			`{"sessionId":"s-1","eventIndex":1,"timestamp":"2026-02-13T10:22:17.123Z","direction":"internal","type":"note",` +
			`"payload":{}}`}},
	{reason: "a byte order mark and nothing else", in: "\xEF\xBB\xBF",
		want: []string{"line 1: EA-085: expected a JSON object; found not JSON at byte 0: empty text, in "}},
	{reason: "no JSON", in: "started\n", want: []string{"line 1: EA-085: expected a JSON object; found not JSON at " +
		"byte 0: invalid character 's' at start of value, in started"}},
	{reason: "an array", in: "[1,2]\n", want: []string{"line 1: EA-085: expected a JSON object; found the array [1,2]"}},
	{reason: "two objects on one line", in: "{} {}\n",
		want: []string{`line 1: EA-085: expected a JSON object; found not JSON at byte 3: trailing data after the value: ` +
			`"{}", in {} {}`}},
	{reason: "an object over several lines", in: "{\n}\n", want: []string{
		`line 1: EA-085: expected a JSON object; found not JSON at byte 1: it ends in the middle, in {`,
		`line 2: EA-085: expected a JSON object; found not JSON at byte 0: invalid character '}' at start of value, in }`}},
	{reason: "a key that is given twice", in: one(`"payload"`, `"type":"x","payload"`), kept: "086 087 089 090 092 093",
		want: []string{`line 1: EA-085: expected UTF-8, and each key once; found duplicate key at "/type" (byte 110)`}},
	{reason: "no UTF-8", in: one(`{}`, "{\"a\":\"\xff\"}"), kept: "086 087 089 090 092 093",
		want: []string{`line 1: EA-085: expected UTF-8, and each key once; found invalid UTF-8 at "/payload/a" (byte 126)`}},
	{reason: "half of a surrogate pair is grammar", in: one(`{}`, `{"a":"\ud800"}`), kept: fine,
		notes: []string{"line 1: an escape is half of a surrogate pair"}},
	{reason: "what a terminal would obey is not printed", in: "\x1b[2J\u202e\u009b\n",
		want: []string{`line 1: EA-085: expected a JSON object; found not JSON at byte 0: invalid character '\x1b' at ` +
			`start of value, in \x1b[2J\u202e\u009b`}},
	{reason: "a field of another case is another", in: one("eventIndex", "eventindex"), kept: "085 086 089 090 092 093",
		want: []string{noIndex + "no eventIndex"}},

	// Torn lines.
	{reason: "a torn line is noted", in: one("", "") + `{"sessionId":"s-`, kept: fine, torn: true},
	{reason: "and a fault once the session has ended", in: one("", "") + `{"sessionId":"s-`, o: Options{Complete: true},
		kept: fine, torn: true,
		want: []string{`line 2: EA-085: expected a JSON object, and the end of its line; ` +
			`found a truncated line: {"sessionId":"s-`}},
	{reason: "a line with an end is not torn", in: "{\"a\":\n",
		want: []string{`line 1: EA-085: expected a JSON object; ` +
			`found not JSON at byte 5, in "/a": it ends in the middle, in {"a":`}},
	{reason: "nor one that is not the start of an object", in: "oops",
		want: []string{"line 1: EA-085: expected a JSON object; found not JSON at byte 0: invalid character 'o' at start " +
			"of value, in oops"}},
	{reason: "nor the start of an array", in: "[1,",
		want: []string{`line 1: EA-085: expected a JSON object; found not JSON at byte 3: it ends in the middle, in [1,`}},

	// EA-086: sessionId.
	{reason: "no sessionId", in: one("sessionId", "session"), kept: "085 087 089 090 092 093",
		want: []string{"line 1: EA-086: expected sessionId, a string; found no sessionId"}},
	{reason: "a sessionId that is a number", in: one(`"s-1"`, "1"), kept: "085 087 089 090 092 093",
		want: []string{"line 1: EA-086: expected sessionId, a string; found sessionId 1 (number)"}},
	{reason: "a sessionId that is null", in: one(`"s-1"`, "null"), kept: "085 087 089 090 092 093",
		want: []string{"line 1: EA-086: expected sessionId, a string; found sessionId null"}},
	{reason: "a file may hold several sessions, each with an order of its own", in: event(7, "internal", "a", "{}") +
		event(1, "internal", "a", "{}", "s-1", "s-2") + event(8, "internal", "a", "{}") +
		event(2, "internal", "a", "{}", "s-1", "s-2"),
		kept: "085 086 087 088 089 090 092 093"},
	{reason: "and one of them is out of order", in: event(7, "internal", "a", "{}") +
		event(1, "internal", "a", "{}", "s-1", "s-2") + event(8, "internal", "a", "{}") +
		event(1, "internal", "a", "{}", "s-1", "s-2"),
		kept: "085 086 087 088 089 090 092 093",
		want: []string{"line 4: EA-088: expected eventIndex above 1, that of line 2; found 1"}},
	{reason: "no line is the session's", in: one("", ""), o: Options{Session: "s-9"}, kept: "",
		want:  []string{`line 1: EA-086: expected sessionId "s-9", the session's; found "s-1"`},
		notes: []string{`no line has the sessionId of the session: "s-9"`}},
	{reason: "others' lines are not judged", in: event(1, "internal", "a", "{}") +
		event(1, "up", "", "[]", "s-1", "s-2", ":1,", ":null,"), o: Options{Session: "s-1", Complete: true}, kept: fine},
	{reason: "nor is what names no session, among others'", in: event(1, "internal", "a", "{}") +
		event(1, "internal", "a", "{}", "s-1", "s-2") + event(1, "up", "", "[]", `"s-1"`, "null") + "oops\n" +
		`{"sessionId":`,
		o: Options{Session: "s-1", Complete: true}, kept: fine, torn: true,
		notes: []string{"lines that name no session are not judged, because the file contains several sessions"}},
	{reason: "what names no session is the one session's", in: event(1, "internal", "a", "{}") +
		event(1, "internal", "a", "{}", `"s-1"`, "null"), o: Options{Session: "s-1"}, kept: "085 086 087 089 090 092 093",
		want: []string{"line 2: EA-086: expected sessionId, a string; found sessionId null",
			"line 2: EA-088: expected eventIndex above 1, that of line 1; found 1"}},
	{reason: "lines are counted from the start of the file", in: one("direction", "dir"),
		o: Options{Session: "s-1", Before: 41}, kept: "085 086 087 089 092 093",
		want: []string{strings.Replace(noDirection, "line 1", "line 42", 1) + "no direction"}},

	// EA-087 and EA-088: eventIndex.
	{reason: "no eventIndex", in: one(`"eventIndex":1,`, ""), kept: "085 086 089 090 092 093",
		want: []string{noIndex + "no eventIndex"}},
	{reason: "an eventIndex that is a string", in: one(`:1,`, `:"1",`), kept: "085 086 089 090 092 093",
		want: []string{noIndex + `eventIndex "1" (string)`}},
	{reason: "an eventIndex between two", in: one(`:1,`, `:1.5,`), kept: fine, notes: []string{noInteger}},
	{reason: "an eventIndex of half", in: one(`:1,`, `:0.5,`), kept: fine, notes: []string{noInteger}},
	{reason: "an eventIndex of 65 bits", in: one(`:1,`, `:18446744073709551616,`), kept: fine, notes: []string{noInteger}},
	{reason: "fractions have an order", in: one(`:1,`, `:0.5,`) + event(2, "internal", "a", "{}", ":2,", ":0.75,") +
		event(3, "internal", "a", "{}", ":3,", ":7.5e-1,"), kept: "085 086 087 088 089 090 092 093",
		want:  []string{"line 3: EA-088: expected eventIndex above 0.75, that of line 2; found 7.5e-1"},
		notes: []string{noInteger + " (3 times)"}},
	{reason: "great numbers have an order, to their last digit", in: one(`:1,`, `:18446744073709551616,`) +
		event(2, "internal", "a", "{}", ":2,", ":18446744073709551617,") +
		event(3, "internal", "a", "{}", ":3,", ":18446744073709551617,"),
		kept: "085 086 087 088 089 090 092 093",
		want: []string{"line 3: EA-088: expected eventIndex above 18446744073709551617, that of line 2; found " +
			"18446744073709551617"}, notes: []string{noInteger + " (3 times)"}},
	{reason: "what is too great to be compared is noted", in: one(`:1,`, `:1e99999999999999999999,`) +
		event(2, "internal", "a", "{}"), kept: fine,
		notes: []string{noInteger, "line 2: eventIndex is too large to be compared"}},
	{reason: "an eventIndex beyond all", in: one(`:1,`, `:1e30,`), kept: fine, notes: []string{noInteger}},
	{reason: "an integer in other digits", in: one(`:1,`, `:10.0e-1,`), kept: fine},
	{reason: "gaps are fine, and starts below zero", in: event(-3, "internal", "a", "{}") +
		event(12, "internal", "a", "{}"), kept: "085 086 087 088 089 090 092 093"},
	{reason: "an index twice", in: event(7, "internal", "a", "{}") + event(7, "internal", "a", "{}"), kept: fine,
		want: []string{"line 2: EA-088: expected eventIndex above 7, that of line 1; found 7"}},
	{reason: "an index that falls", in: event(7, "internal", "a", "{}") + event(3, "internal", "a", "{}") +
		event(4, "internal", "a", "{}"), kept: "085 086 087 088 089 090 092 093",
		want: []string{"line 2: EA-088: expected eventIndex above 7, that of line 1; found 3"}},
	{reason: "a line without an index does not break the order", in: event(7, "internal", "a", "{}") +
		event(8, "internal", "a", "{}", ":8,", ":null,") + event(7, "internal", "a", "{}"), kept: fine,
		want: []string{"line 2: EA-087: expected eventIndex, a number; found eventIndex null",
			"line 3: EA-088: expected eventIndex above 7, that of line 1; found 7"}},

	// EA-089: timestamp.
	{reason: "no timestamp", in: one("timestamp", "time"), kept: "085 086 087 090 092 093",
		want: []string{"line 1: EA-089: " + noTime + "no timestamp"}},
	{reason: "a number of seconds", in: one(`"2026-02-13T10:22:17.123Z"`, "1770978137"), kept: fine,
		notes: []string{form + ": it is a number"}},
	{reason: "an empty timestamp", in: timed(""), kept: "085 086 087 090 092 093",
		want: []string{"line 1: EA-089: " + noTime + "an empty timestamp"}},
	{reason: "a timestamp that is null", in: one(`"2026-02-13T10:22:17.123Z"`, "null"), kept: "085 086 087 090 092 093",
		want: []string{"line 1: EA-089: " + noTime + "timestamp null"}},
	{reason: "a timestamp that is a list", in: one(`"2026-02-13T10:22:17.123Z"`, "[2026]"),
		kept: "085 086 087 090 092 093", want: []string{"line 1: EA-089: " + noTime + "timestamp [2026] (array)"}},
	{reason: "without milliseconds", in: timed("2026-02-13T10:22:17Z"), kept: fine, notes: []string{form}},
	{reason: "with microseconds", in: timed("2026-02-13T10:22:17.123456Z"), kept: fine, notes: []string{form}},
	{reason: "UTC by its offset", in: timed("2026-02-13T10:22:17.123+00:00"), kept: fine, notes: []string{form}},
	{reason: "another zone", in: timed("2026-02-13T11:22:17.123+01:00"), kept: fine,
		notes: []string{form + ": not in UTC"}},
	{reason: "no zone", in: timed("2026-02-13T10:22:17.123"), kept: fine, notes: []string{form + ": without a zone"}},
	{reason: "no such day", in: timed("2026-02-30T10:22:17.123Z"), kept: fine,
		notes: []string{form + ": not a valid time"}},
	{reason: "a date for people", in: timed("Fri Feb 13 2026"), kept: fine,
		notes: []string{form + ": not a date and time of ISO 8601"}},

	// EA-090, EA-092, EA-093: direction, type, payload.
	{reason: "no direction", in: one("direction", "dir"), kept: "085 086 087 089 092 093",
		want: []string{noDirection + "no direction"}},
	{reason: "a direction in capitals", in: one("internal", "IN"), kept: "085 086 087 089 092 093",
		want: []string{noDirection + `direction "IN" (string)`}},
	{reason: "a direction that is no string", in: one(`"internal"`, "true"), kept: "085 086 087 089 092 093",
		want: []string{noDirection + "direction true (boolean)"}},
	{reason: "no type", in: one(`"type"`, `"kind"`), kept: "085 086 087 089 090 093",
		want: []string{"line 1: EA-092: expected type, a string that is not empty; found no type"}},
	{reason: "an empty type", in: one(`"note"`, `""`), kept: "085 086 087 089 090 093",
		want: []string{`line 1: EA-092: expected type, a string that is not empty; found type "" (string)`}},
	{reason: "no payload", in: one("payload", "data"), kept: "085 086 087 089 090 092",
		want: []string{"line 1: EA-093: expected payload, an object; found no payload"}},
	{reason: "a payload as text", in: one("{}", `"{}"`), kept: "085 086 087 089 090 092",
		want: []string{`line 1: EA-093: expected payload, an object; found payload "{}" (string)`}},
	{reason: "everything is wrong, and all of it is reported", in: "{}\n", kept: "085", want: []string{
		"line 1: EA-086: expected sessionId, a string; found no sessionId", noIndex + "no eventIndex", "line 1: EA-089: " +
			noTime + "no timestamp",
		noDirection + "no direction", "line 1: EA-092: expected type, a string that is not empty; found no type",
		"line 1: EA-093: expected payload, an object; found no payload"}},

	// EA-091: direction from the host's view.
	{reason: "an agent's message comes in", in: event(1, "in", "tool.call", "{}"),
		kept: "085 086 087 089 090 091 092 093"},
	{reason: "a host's goes out", in: event(1, "out", "state.updated", "{}"), kept: "085 086 087 089 090 091 092 093"},
	{reason: "an agent's view", in: event(1, "out", "tool.call", "{}"), kept: fine,
		want: []string{`line 1: EA-091: expected direction "in" of type tool.call, which an agent sends; found "out", and ` +
			`no line with the same payload and "in"`}},
	{reason: "an agent's view, reported once for equal lines", in: event(1, "out", "snapshot.get", "{}") +
		event(2, "out", "snapshot.get", "{}"), kept: "085 086 087 088 089 090 092 093",
		want: []string{`line 1: EA-091: expected direction "in" of type snapshot.get, which an agent sends; found "out" ` +
			`on 2 lines with the same payload, and none with "in"`}},
	{reason: "what only hosts send may come in, by an agent's mistake", in: event(1, "in", "error", "{}"),
		kept: "085 086 087 089 090 092 093"},
	{reason: "as it was received, and as it was sent on", in: event(1, "in", "tool.call", `{"a":1}`) +
		event(2, "out", "tool.call", `{"a":1.0}`), kept: "085 086 087 088 089 090 091 092 093"},
	{reason: "in whichever order", in: event(1, "in", "user.message", `{"a":[],"b":{}}`) +
		event(2, "out", "user.message", `{"b":{},"a":[]}`), kept: "085 086 087 088 089 090 091 092 093"},
	{reason: "sent on with another payload", in: event(1, "in", "tool.call", `{"a":1}`) +
		event(2, "out", "tool.call", `{"a":"1"}`), kept: "085 086 087 088 089 090 091 092 093",
		want: []string{`line 2: EA-091: expected direction "in" of type tool.call, which an agent sends; found "out", and ` +
			`no line with the same payload and "in"`}},
	{reason: "internal is free beside others", in: event(1, "internal", "tool.call", "{}") +
		event(2, "out", "tool.result", "{}"), kept: "085 086 087 088 089 090 091 092 093"},
	{reason: "internal alone is no direction", in: event(1, "internal", "a", "{}") +
		event(2, "internal", "tool.call", "{}") + event(3, "internal", "tool.result", "{}") +
		event(4, "in", "ui.click", "{}"), kept: "085 086 087 088 089 090 092 093",
		want: []string{`line 2: EA-091: expected lines with direction "in" or "out" for what was received and sent; found ` +
			`every line of a type of a message is "internal"`}},
	{reason: "the relay's types and unknown types are free too", in: event(1, "out", "relay.join", "{}") +
		event(2, "in", "relay.joined", "{}") + event(3, "out", "ui.click", "{}"), kept: "085 086 087 088 089 090 092 093"},
}

func TestCheck(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range logs {
		if seen[r.reason] {
			t.Errorf("the reason %q is listed twice", r.reason)
		}
		seen[r.reason] = true
		t.Run(r.reason, func(t *testing.T) {
			got := Check(strings.NewReader(r.in), r.o)
			if diff := cmp.Diff(r.want, failures(got)); diff != "" {
				t.Errorf("failures, want(-) got(+):\n%s", diff)
			}
			if kept(got) != r.kept {
				t.Errorf("kept is %q, want %q", kept(got), r.kept)
			}
			if diff := cmp.Diff(r.notes, texts(got.Notes)); diff != "" {
				t.Errorf("notes, want(-) got(+):\n%s", diff)
			}
			if (got.Torn != nil) != r.torn || got.Failed() != (len(r.want) > 0) || got.Err != nil {
				t.Errorf("torn: %v, failed: %v, err: %v", got.Torn, got.Failed(), got.Err)
			}
			slow := Check(iotest.OneByteReader(strings.NewReader(r.in)), r.o)
			if diff := cmp.Diff(got, slow, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("byte by byte it is another:\n%s", diff)
			}
		})
	}
}

// TestTornAnywhere checks that a crash may cut a line at any byte, even within a rune or an escape.
func TestTornAnywhere(t *testing.T) {
	whole := one("", "")
	last := strings.TrimSuffix(event(2, "in", "tool.call",
		`{"text":"主\u4e3b\"\n🙂","n":-1.5e+10,"l":[true,false,null,{}]}`), "\n")
	for n := 1; n < len(last); n++ {
		got := Check(strings.NewReader(whole+last[:n]), Options{})
		want := &Torn{Line: 2, Bytes: n, Start: plain(last[:n])}
		if diff := cmp.Diff(want, got.Torn); diff != "" || got.Failed() || got.Events != 1 || got.Lines != 2 {
			t.Errorf("cut to %q: failures %q\nwant(-) got(+):\n%s", last[:n], failures(got), diff)
		}
		if got := Check(strings.NewReader(whole+last[:n]), Options{Complete: true}); got.Clauses["EA-085"].Broken != 1 {
			t.Errorf("cut to %q, and complete: %q", last[:n], failures(got))
		}
	}
	if got := Check(strings.NewReader(whole+last), Options{}); got.Torn != nil || got.Events != 2 {
		t.Errorf("the whole line: %+v", got.Torn)
	}
}
