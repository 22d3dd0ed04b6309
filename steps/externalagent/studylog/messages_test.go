package studylog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	wjson "parley/transport/wire/json"
)

func jsonNumber(s string) wjson.Number { return wjson.Number(s) }

// sent returns a message on the wire. Its record has the number of the message.
func sent(t *testing.T, lines ...string) []Message {
	t.Helper()
	out := []Message{}
	for i, l := range lines {
		l, optional := strings.CutPrefix(l, "optional ")
		f := strings.SplitN(l, " ", 3)
		v, _, err := wjson.Decode([]byte(f[2]))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Message{Direction: f[0], Type: f[1], Payload: v, Record: i + 1, Optional: optional})
	}
	return out
}

// wrote returns a log of such lines.
func wrote(lines ...string) string {
	var b strings.Builder
	for i, l := range lines {
		f := strings.SplitN(l, " ", 3)
		b.WriteString(event(i, f[0], f[1], f[2]))
	}
	return b.String()
}

const (
	start   = `in session.start {"studyId":"pilot","participantId":"P07"}`
	started = `out session.started {"sessionId":"s-1"}`
	call    = `in tool.call {"toolName":"select","params":{"itemId":"m1","n":[1,2]},"reason":"first"}`
	result  = `out tool.result {"ok":true,"toolName":"select"}`
	get     = `in snapshot.get {}`
	ended   = `out session.ended {"sessionId":"s-1","stateReset":true}`
)

const messagesNoLine = "expected a line for the "

var messagesRows = []struct {
	reason string
	sent   []string
	in     string
	open   bool // the session has not ended
	want   []string
	kept   string // of EA-010, EA-091, EA-093 and EA-107
	notes  []string
}{
	{reason: "everything is there", sent: []string{start, started, call, result, ended},
		in: wrote(start, started, call, result, ended), kept: "010 091 093 107"},
	{reason: "any order of keys and any notation of numbers", sent: []string{call},
		in:   wrote(`in tool.call {"reason":"first","params":{"n":[1.0,20e-1],"itemId":"\u006d1"},"toolName":"select"}`),
		kept: "010 091 093 107"},
	{reason: "and more than once, and more than that", sent: []string{call},
		in:    wrote(call, strings.Replace(call, "in", "out", 1), `internal tool.executed {}`, `internal tool.call {}`),
		kept:  "010 091 093 107",
		notes: nil},
	{reason: "no messages are compared with no log", sent: []string{}, in: wrote(call), kept: "091"},
	{reason: "those of the relay, and what was no message, are not expected",
		sent: []string{`in relay.join {}`, `out relay.joined {}`, `in  {}`, call}, in: wrote(call), kept: "010 091 093 107"},
	{reason: "one is missing", sent: []string{start, call, call}, in: wrote(start, call), kept: "010 091 093 107",
		want: []string{`EA-107: ` + messagesNoLine +
			`tool.call {"params":{"itemId":"m1","n":[1,2]},"reason":"first","toolName":"select"} on the wire; found none`}},
	{reason: "it may come while the session goes on", sent: []string{start, call}, in: wrote(start), open: true,
		kept:  "091 093",
		notes: []string{"not in the log (yet): 1 message of the session"}},
	{reason: "equal messages need as many lines", sent: []string{get, get, get}, in: wrote(get), kept: "010 091 093 107",
		want: []string{`EA-107: ` + messagesNoLine + `snapshot.get {} on the wire; found none`, `EA-107: ` + messagesNoLine +
			`snapshot.get {} on the wire; found none`}},
	{reason: "the end itself may be on its way", sent: []string{start, ended}, in: wrote(start), kept: "010 091 093 107",
		notes: []string{"session.ended is not in the log: it may have been complete before"}},
	{reason: "nothing was written", sent: []string{get, started}, in: "", want: []string{
		"EA-010: expected the log of a session that has ended; found none of its 2 messages",
		`EA-107: ` + messagesNoLine + `snapshot.get {} on the wire; found none`, `EA-107: ` + messagesNoLine +
			`session.started {"sessionId":"s-1"} on the wire; found none`}},
	{reason: "the reason is left out", sent: []string{start, call},
		in: wrote(start, strings.Replace(call, `,"reason":"first"`, "", 1)), kept: "010 091 093 107",
		want: []string{`line 2: EA-093: expected the payload of the tool.call on the wire, which has "first" at ` +
			`/payload/reason; found nothing`}},
	{reason: "a field is added", sent: []string{get}, in: wrote(`in snapshot.get {"at":1}`), kept: "010 091 107",
		want: []string{`line 1: EA-093: expected the payload of the snapshot.get on the wire, which has nothing at ` +
			`/payload/at; found 1`}},
	{reason: "a value is another, deep inside", sent: []string{call},
		in: wrote(strings.Replace(call, "[1,2]", "[1,3]", 1)), kept: "010 091 107",
		want: []string{`line 1: EA-093: expected the payload of the tool.call on the wire, which has 2 at ` +
			`/payload/params/n/1; found 3`}},
	{reason: "a list is shorter", sent: []string{call}, in: wrote(strings.Replace(call, "[1,2]", "[1]", 1)),
		kept: "010 091 107",
		want: []string{`line 1: EA-093: expected the payload of the tool.call on the wire, which has [1,2] at ` +
			`/payload/params/n; found [1]`}},
	{reason: "an object became a text", sent: []string{`in tool.call {"params":{}}`},
		in: wrote(`in tool.call {"params":"{}"}`), kept: "010 091 107",
		want: []string{`line 1: EA-093: expected the payload of the tool.call on the wire, which has {} at ` +
			`/payload/params; found "{}"`}},
	{reason: "numbers are compared to their last digit", sent: []string{`in tool.call {"n":9007199254740993}`},
		in: wrote(`in tool.call {"n":9007199254740992}`), kept: "010 091 107",
		want: []string{`line 1: EA-093: expected the payload of the tool.call on the wire, which has 9007199254740993 at ` +
			`/payload/n; found 9007199254740992`}},
	{reason: "two that differ are reported in order", sent: []string{`in agent.message {"text":"a"}`,
		`in agent.message {"text":"b"}`}, in: wrote(`in agent.message {"text":"A"}`, `in agent.message {"text":"B"}`),
		kept: "010 091 107", want: []string{
			`line 1: EA-093: expected the payload of the agent.message on the wire, which has "a" at /payload/text; found "A"`,
			`line 2: EA-093: expected the payload of the agent.message on the wire, ` +
				`which has "b" at /payload/text; found "B"`}},
	{reason: "an altered copy beside the true line is noted", sent: []string{call}, in: wrote(call, `in tool.call {}`),
		kept:  "010 091 093 107",
		notes: []string{"1 line of the types of the session's messages without a message"}},
	{reason: "the agent's view is one finding", sent: []string{call}, in: wrote(strings.Replace(call, "in", "out", 1)),
		kept: "010 093 107",
		want: []string{`line 1: EA-091: expected direction "in" of type tool.call, which an agent sends; found "out", ` +
			`and no line with the same payload and "in"`}},
	{reason: "internal alone is not the view of a message that came in", sent: []string{call},
		in: wrote(strings.Replace(call, "in", "internal", 1)), kept: "010 093 107",
		want: []string{`line 1: EA-091: expected a line with direction "in" for the tool.call, its direction on ` +
			`the wire; found its payload only with other directions`}},
	{reason: "what an agent really sent came in, whoever should send it",
		sent: []string{`in tool.result {}`, `out error {"code":"INVALID_MESSAGE"}`},
		in:   wrote(`in tool.result {}`, `out error {"code":"INVALID_MESSAGE"}`), kept: "010 091 093 107"},
	{reason: "and is not logged as the host's", sent: []string{`in tool.result {}`}, in: wrote(`out tool.result {}`),
		kept: "010 091 093 107",
		want: []string{`line 1: EA-091: expected a line with direction "in" for the tool.result, its direction on ` +
			`the wire; found its payload only with other directions`}},
	{reason: "types that the source does not know are compared too", sent: []string{`in x.y {"a":1}`},
		in: wrote(`in x.y {"a":2}`), kept: "010 107",
		want: []string{`line 1: EA-093: expected the payload of the x.y on the wire, which has 1 at /payload/a; found 2`}},
	{reason: "what was not read may hold what is missing", sent: []string{start, call}, in: wrote(start) +
		strings.Repeat(" ", MaxLine+1) + "\n", kept: "010 091 093 107",
		notes: []string{"line 2: a line of more than 8388608 bytes is not judged",
			"the unjudged part of the log may contain the missing messages of the session: 1 message"}},
	{reason: "so may what is too deep", sent: []string{start, call}, in: wrote(start) + strings.Repeat("[", 2000) + "\n",
		kept: "010 091 093 107",
		notes: []string{"line 2: a line nested deeper than 1000 is not judged",
			"the unjudged part of the log may contain the missing messages of the session: 1 message"}},
	{reason: "internal alone, with another payload, is not the view either", sent: []string{call},
		in: wrote(`internal tool.call {}`, `internal tool.call {"a":1}`), want: []string{
			`line 1: EA-091: expected a line with direction "in" for the tool.call, its direction on the wire; found ` +
				`"internal" on every line of that type`,
			"EA-010: expected the log of a session that has ended; found none of its 1 message",
			`EA-107: ` + messagesNoLine +
				`tool.call {"params":{"itemId":"m1","n":[1,2]},"reason":"first","toolName":"select"} on the wire; found none`}},
	{reason: "internal alone of a type that was never sent is the host's own", sent: []string{call},
		in: wrote(call, `internal state.updated {}`), kept: "010 091 093 107"},

	{reason: "an optional message that is logged", sent: []string{"optional " + start, call}, in: wrote(start, call),
		kept: "010 091 093 107"},
	{reason: "an optional message need not be there", sent: []string{"optional " + start, call}, in: wrote(call),
		kept: "010 091 093 107"},
	{reason: "nor one of several", sent: []string{"optional " + get, "optional " + get, call}, in: wrote(get, call),
		kept: "010 091 093 107"},
	{reason: "a log without any optional message", sent: []string{"optional " + start}, in: wrote(`internal note {}`)},
	{reason: "an empty log, where all are optional", sent: []string{"optional " + start}, in: "",
		want: []string{"EA-010: expected the log of a session that has ended; found a log without events"}},
	{reason: "a log of optional messages alone", sent: []string{"optional " + start, call}, in: wrote(start),
		kept: "091 093",
		want: []string{"EA-010: expected the log of a session that has ended; found none of its 1 message",
			`EA-107: ` + messagesNoLine +
				`tool.call {"params":{"itemId":"m1","n":[1,2]},"reason":"first","toolName":"select"} on the wire; found none`}},
	{reason: "what stands for an optional message has its payload",
		sent: []string{"optional " + `in agent.message {"text":"a"}`, "optional " + `in agent.message {"text":"b"}`},
		in:   wrote(`in agent.message {"text":"a"}`, `in agent.message {"text":"B"}`), kept: "010 091 093",
		want: []string{`line 2: EA-093: expected the payload of the agent.message on the wire, which has "b" at ` +
			`/payload/text; found "B"`}},
	{reason: "which line stands for it is not told where there are fewer",
		sent: []string{"optional " + `in agent.message {"text":"a"}`, "optional " + `in agent.message {"text":"b"}`},
		in:   wrote(`in agent.message {"text":"B"}`), kept: "091",
		notes: []string{"1 line of the types of the session's messages without a message"}},
	{reason: "nor where there are more", sent: []string{"optional " + `in agent.message {"text":"a"}`},
		in: wrote(`in agent.message {"text":"B"}`, `in agent.message {"text":"C"}`), kept: "091",
		notes: []string{"2 lines of the types of the session's messages without a message"}},
	{reason: "one that must be there goes first", sent: []string{"optional " + get, get}, in: wrote(get),
		kept: "010 091 093 107"},
	{reason: "an optional message on a line with internal alone", sent: []string{"optional " + get, call},
		in: wrote(`internal snapshot.get {}`, call), kept: "010 091 093 107",
		want: []string{`line 1: EA-091: expected a line with direction "in" for the snapshot.get, its direction on ` +
			`the wire; found its payload only with other directions`}},
}

func TestMessages(t *testing.T) {

	rows := messagesRows
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			got := Check(strings.NewReader(r.in), Options{Messages: sent(t, r.sent...), Complete: !r.open})
			if diff := cmp.Diff(r.want, failures(got)); diff != "" {
				t.Errorf("failures, want(-) got(+):\n%s", diff)
			}
			var of []string
			for _, clause := range strings.Fields(kept(got)) {
				if strings.Contains("010 091 093 107", clause) {
					of = append(of, clause)
				}
			}
			if strings.Join(of, " ") != r.kept {
				t.Errorf("kept is %q, want %q", of, r.kept)
			}
			if diff := cmp.Diff(r.notes, texts(got.Notes)); diff != "" {
				t.Errorf("notes, want(-) got(+):\n%s", diff)
			}
		})
	}
}

func TestFindingsNameTheRecord(t *testing.T) {
	got := Check(strings.NewReader(wrote(start, `in tool.call {}`)),
		Options{Complete: true, Messages: sent(t, start, call, get)})
	var records []int
	for _, f := range got.Findings {
		if !f.OK {
			records = append(records, f.Record)
		}
	}
	if diff := cmp.Diff([]int{2, 3}, records); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

// TestPayloadsOfGo checks that a payload may be given as a Go value.
func TestPayloadsOfGo(t *testing.T) {
	m := []Message{{Direction: "in", Type: "tool.call", Payload: map[string]any{"n": 1, "l": []string{"a"}, "f": 0.5},
		Record: 1}}
	if got := Check(strings.NewReader(wrote(`in tool.call {"f":5e-1,"l":["a"],"n":1}`)),
		Options{Messages: m, Complete: true}); got.Failed() {
		t.Errorf("%q", failures(got))
	}
	m[0].Payload = func() {} // not a JSON value
	if got := Check(strings.NewReader(wrote(`in tool.call {}`)), Options{Messages: m, Complete: true}); !got.Failed() {
		t.Error("a function is equal to an object")
	}
}

// TestManyLinesThatAreNone checks that the lines compared with missing messages are bounded.
func TestManyLinesThatAreNone(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	got := Check(&endless{line: func(i int) string {
		if i > 20 {
			return ""
		}
		return event(i, "in", "tool.call", `{"reason":"`+big+`"}`)
	}}, Options{Messages: sent(t, strings.Split(strings.Repeat(call+"\n", 20), "\n")[:20]...), Complete: true})
	texts := failures(got)
	if len(texts) != 20 || !strings.Contains(texts[0], "at /payload/params") ||
		!strings.HasSuffix(texts[19], "expected the payload of the tool.call on the wire; found another one") {
		t.Errorf("%d failures, the last: %q", len(texts), texts[len(texts)-1])
	}
	many := Check(&endless{line: func(i int) string {
		if i > maxOdd+100 {
			return ""
		}
		return event(i, "in", "tool.call", `{}`)
	}}, Options{Messages: sent(t, call)})
	if many.Clauses["EA-093"].Broken != 1 || len(many.Notes) != 1 {
		t.Errorf("%q %q", failures(many), texts)
	}
}

// TestOthersLines checks that a file may hold several sessions: a session logged under a wrong id is reported, and
// lines of others are not judged.
func TestOthersLines(t *testing.T) {
	theirs := func(lines ...string) string { return strings.ReplaceAll(wrote(lines...), `"s-1"`, `"s-2"`) }
	spoilt := event(0, "in", "tool.call", `["spoilt"]`, "s-1", "s-2") +
		event(1, "in", "tool.call", `["spoilt"]`, `"s-1"`, "null") +
		event(2, "in", "tool.call", `{"spoilt":true}`, `"s-1"`, "null")
	for _, r := range []struct {
		reason, in string
		want       []string
	}{
		{"others before", theirs(call, result) + spoilt + wrote(call, result), nil},
		{"others between", wrote(call) + spoilt + strings.ReplaceAll(wrote(call, result), `"eventIndex":0`,
			`"eventIndex":9`)[len(wrote(call)):], nil},
		{"a call stands under another session", theirs(call) + wrote(result),
			[]string{`EA-107: expected a line for the tool.call ` +
				`{"params":{"itemId":"m1","n":[1,2]},"reason":"first","toolName":"select"} on the wire; found none; line 1 has ` +
				`it with another sessionId, "s-2"`}},
		{"all of it does", theirs(call, result),
			[]string{`line 1: EA-086: expected sessionId "s-1", the session's; found "s-2"`}},
		{"nothing of it is there", theirs(start),
			[]string{`line 1: EA-086: expected sessionId "s-1", the session's; found "s-2"`,
				"EA-010: expected the log of a session that has ended; found none of its 2 messages",
				`EA-107: expected a line for the tool.call ` +
					`{"params":{"itemId":"m1","n":[1,2]},"reason":"first","toolName":"select"} on the wire; found none`,
				`EA-107: expected a line for the tool.result {"ok":true,"toolName":"select"} on the wire; found none`}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			got := Check(strings.NewReader(r.in), Options{Session: "s-1", Messages: sent(t, call, result), Complete: true})
			if diff := cmp.Diff(r.want, failures(got)); diff != "" {
				t.Errorf("failures, want(-) got(+):\n%s", diff)
			}
		})
	}
}
