package externalagent

import (
	"strings"
	"testing"
	"time"

	"parley/internal/cut"
	vocab "parley/protocol/externalagent"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

func TestOkAlone(t *testing.T) {
	for _, r := range []struct {
		reason, tool string
		result       object
		want         bool
	}{
		{"ok alone", "next", object{"ok": true}, true},
		{"what is said", "postMessage", object{"ok": true}, true},
		{"a quick uiSpec", "next", object{"ok": true, vocab.Spec: object{}}, false},
		{"another tool", "select", object{"ok": true}, false},
	} {
		if got := okAlone(object{vocab.ToolName: r.tool}, r.result); got != r.want {
			t.Errorf("%s: %v", r.reason, got)
		}
	}
}

// TestALostState checks that a lost state comes only on request, not after other messages of the agent.
func TestALostState(t *testing.T) {
	p := host(t, true)
	p.plans = []*plan{{n: 1, do: func(t turn) []any { t.lost = true; return []any{t.result} }}}
	for i, r := range []struct{ in, want string }{
		{`{"type":"session.start","payload":{}}`, "session.started state.updated"},
		{`{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m1"}}}`, "tool.result@"},
		{`{"type":"agent.message","payload":{"text":"Well?"}}`, ""},
		{`{"type":"snapshot.get","id":"g","payload":{}}`, "snapshot.state@"},
		{`{"type":"agent.message","payload":{"text":"I see."}}`, "state.updated"},
	} {
		if got := brief(p.respond(heard(r.in))); got != r.want {
			t.Errorf("message %d: %q, want %q", i+1, got, r.want)
		}
	}
}

// TestHangUp checks that what is in transit when the play hangs up is lost.
func TestHangUp(t *testing.T) {
	p := host(t, true)
	p.active = true
	p.plans = []*plan{{n: 1, do: func(t turn) []any { return []any{t.result, hangUp{}} }}}
	for _, text := range []string{`{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m1"}}}`,
		`{"type":"tool.call","id":"d","payload":{"toolName":"next","params":{}}}`} {
		p.t.Append(transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame, Bytes: []byte(text)})
	}
	p.attend(&wire{party: "agent1", t: p.t}, "agent1", 0)
	p.done.Wait() // it ends by itself
	if p.went != 1 || p.at != 0 {
		t.Errorf("%d calls went well, and it is at stage %d", p.went, p.at)
	}
	p.stop()
}

// TestElsewhere checks that the new stage announces only tools that the stage before did not have, so that a call
// based on the earlier state is recognisable.
func TestElsewhere(t *testing.T) {
	for at, want := range map[int]string{0: "setQuantity prev", 1: "select", 2: "select", 3: "select"} {
		p := host(t, false)
		p.active, p.at = true, at
		p.elsewhere()
		var got []string
		for _, item := range p.state()[vocab.ToolSchema].([]any) {
			got = append(got, item.(object)["name"].(string))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("from stage %d: %v, want %s", at, got, want)
		}
		for _, tool := range p.flow.Stages[p.at].tools {
			if there := p.announced().Find(tool.Name) != nil; there != strings.Contains(want, tool.Name) {
				t.Errorf("from stage %d: %s is announced: %v", at, tool.Name, there)
			}
		}
		if len(got) > 0 {
			p.called("c", object{vocab.ToolName: got[0], vocab.Params: object{}}, func(string, string) []any { return nil })
		}
	}
}

// TestElsewhereIsHere checks that if no stage has tools of its own, tools that lead on and the tool called last are
// not announced.
func TestElsewhereIsHere(t *testing.T) {
	f, err := parseFlow("a flow",
		[]byte(`stages: [{name: only, uiSpec: {}, toolSchema: [{name: pick}, {name: next}, {name: prev}], effects: {next: `+
			`{go: 1}}}]`))
	if err != nil {
		t.Fatal(err)
	}
	p := newPlay(transcript.New(decode), f, "n")
	p.latest = "pick"
	p.elsewhere()
	if got := wjson.Compact(p.state()[vocab.ToolSchema]); got != `[{"name":"prev"}]` {
		t.Error(got)
	}
}

// TestWithdraw checks that what a call has requested is no longer announced: the value of a param if others are left,
// otherwise the tool.
func TestWithdraw(t *testing.T) {
	for _, r := range []struct{ reason, tools, call, want string }{
		{"a value", `[{"name":"a","parameters":{"type":"object","properties":{"p":{"enum":["x","y"]}}}},{"name":"b"}]`,
			`{"toolName":"a","params":{"p":"x"}}`,
			`[{"name":"a","parameters":{"properties":{"p":{"enum":["y"]}},"type":"object"}},{"name":"b"}]`},
		{"a value of a flat map", `[{"name":"a","parameters":{"p":{"enum":[1,2]}}}]`, `{"toolName":"a","params":{"p":2}}`,
			`[{"name":"a","parameters":{"p":{"enum":[1]}}}]`},
		{"the second param has others", `[{"name":"a","parameters":{"p":{"enum":[1]},"q":{"enum":[1,2]}}}]`,
			`{"toolName":"a","params":{"p":1,"q":1}}`,
			`[{"name":"a","parameters":{"p":{"enum":[1]},"q":{"enum":[2]}}}]`},
		{"the only value", `[{"name":"a","parameters":{"p":{"enum":["x"]}}},{"name":"b"}]`,
			`{"toolName":"a","params":{"p":"x"}}`, `[{"name":"b"}]`},
		{"no values", `[{"name":"a"},{"name":"b"}]`, `{"toolName":"b","params":{}}`, `[{"name":"a"}]`},
		{"the only tool", `[{"name":"a"}]`, `{"toolName":"a","params":null}`, `[]`},
	} {
		f, err := parseFlow("a flow", []byte(`stages: [{name: only, uiSpec: {}, toolSchema: `+r.tools+`}]`))
		if err != nil {
			t.Fatal(err)
		}
		p := newPlay(transcript.New(decode), f, "n")
		p.withdraw(value(t, r.call).(object))
		if got := wjson.Compact(p.state()[vocab.ToolSchema]); got != r.want {
			t.Errorf("%s: %s, want %s", r.reason, got, r.want)
		}
		if got := wjson.Compact(f.Stages[0].ToolSchema); got != wjson.Compact(value(t, r.tools)) {
			t.Errorf("%s: the flow itself has become %s", r.reason, got)
		}
	}
}

// TestWindow checks that the time for which something is held back grows with how slow the agent has been.
func TestWindow(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	at := func(n int, conn string, dir transcript.Dir, kind transcript.Kind) transcript.Record {
		return transcript.Record{At: ms(n), Conn: conn, Dir: dir, Kind: kind}
	}
	in, out, frame := transcript.Received, transcript.Sent, transcript.Frame
	for _, r := range []struct {
		reason string
		t      []transcript.Record
		want   int
	}{
		{"nothing is known of it", nil, 0},
		{"it joins", []transcript.Record{at(10, "agent1", in, transcript.Open), at(40, "agent1", in, frame)}, 30},
		{"it has said nothing yet", []transcript.Record{at(10, "agent1", in, transcript.Open)}, 0},
		{"the latest message to it counts", []transcript.Record{at(10, "agent1", out, frame), at(50, "agent1", out, frame),
			at(60, "agent1", in, frame)}, 10},
		{"what it says by itself does not", []transcript.Record{at(10, "agent1", out, frame), at(15, "agent1", in, frame),
			at(90, "agent1", in, frame)}, 5},
		{"the slowest", []transcript.Record{at(10, "agent1", out, frame), at(50, "agent1", in, frame),
			at(60, "agent1", out, frame), at(61, "agent1", in, frame)}, 40},
		{"not an agent", []transcript.Record{at(10, "", in, frame), at(50, "", out, frame), at(60, "", in, frame)}, 0},
	} {
		if got := slowest(r.t); got != ms(r.want) {
			t.Errorf("%s: %v, want %d ms", r.reason, got, r.want)
		}
	}
}

// TestJunk checks that every kind of junk in the features can be sent, and that any other is our own mistake.
func TestJunk(t *testing.T) {
	within(t, vocab.Agent, "", func(s *suite) error {
		for _, what := range []string{"malformed JSON", "an empty text", "a JSON array", "a JSON null", "a JSON number",
			"a JSON string", "a binary frame", "an unknown type",
			"an envelope without payload", "an envelope without type", "a presence message", "an answer to nobody",
			"what the participant says", "a state with extra members", "a long state"} {
			make, known := s.junk(host(t, true), what)
			if !known {
				t.Errorf("%s is not known", what)
				continue
			}
			for _, v := range make() {
				if m, raw := v.(driver.Message); raw {
					if rec := heard(string(m.Body)); rec.Event != nil {
						t.Errorf("%s is an envelope: %s", what, m.Body)
					}
					continue
				}
				if m, err := message(v); err != nil {
					t.Errorf("%s: %v", what, err)
				} else if kindOfObject(v) == vocab.StateUpdated && v.(object)[vocab.Payload].(object)["parleyExtra"] == nil {
					t.Errorf("%s: %s", what, cut.Head(string(m.Body), 300))
				}
			}
		}
		if _, known := s.junk(host(t, true), "a smile"); known {
			t.Error("a smile is known")
		}
		return nil
	})
}

// TestPlans checks that what is planned for the n-th successful call is done then, once, and that undo restores the
// state.
func TestPlans(t *testing.T) {
	const well = "tool.result@ state.updated"
	pick, next := `{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m1"}}}`,
		`{"type":"tool.call","id":"c","payload":{"toolName":"next","params":{}}}`
	p := host(t, false)
	p.plans = []*plan{{n: 2, do: func(t turn) []any { return []any{t.refusal("X")} }}}
	p.respond(heard(`{"type":"session.start","payload":{}}`))
	for i, r := range []struct{ in, want string }{{next, "error:TOOL_EXECUTION_FAILED@"}, {pick, well}, {next, "error:X@"},
		{next, well}} {
		if got := brief(p.respond(heard(r.in))); got != r.want {
			t.Errorf("call %d: %s, want %s", i+1, got, r.want)
		}
	}
	if p.at != 1 || p.went != 3 {
		t.Errorf("it is at stage %d behind %d calls", p.at, p.went)
	}
}

// TestPlansThatFit checks that a plan waits for a fitting call, that two plans apply to two calls, and that remarks
// surround what is sent.
func TestPlansThatFit(t *testing.T) {
	pick, next := `{"type":"tool.call","id":"c","payload":{"toolName":"select","params":{"itemId":"m1"}}}`,
		`{"type":"tool.call","id":"c","payload":{"toolName":"next","params":{}}}`
	p := host(t, true)
	says := func(what string) func(turn) []any {
		return func(turn) []any {
			return []any{envelope("parley.one", "", "", object{}), envelope(what, "", "", object{})}
		}
	}
	p.plans = []*plan{{n: 1, fits: okAlone, do: says("parley.alone")}, {n: 1, do: says("parley.any")}}
	w := &wire{party: "agent1", t: p.t}
	for _, in := range []string{`{"type":"session.start","payload":{}}`, pick, pick, next} {
		p.on(t.Context(), w, heard(in))
	}
	var got []string
	for _, r := range p.t.All() {
		if r.Kind == transcript.Remark {
			got = append(got, map[string]string{string(planning): "(", string(planned): ")"}[r.Label])
			continue
		}
		got = append(got, kindOf(&r))
	}
	want := "session.started state.updated ( parley.one ) parley.any tool.result state.updated ( parley.one ) parley.alone"
	if strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
