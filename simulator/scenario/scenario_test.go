package scenario_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/simulator/scenario"
	"parley/steps"
	"parley/steps/protocols"
	"parley/transport/recording"
)

func read(t *testing.T, text string) []scenario.Line {
	t.Helper()
	in, err := recording.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := protocols.All.Find(in.Header().Protocol)
	if err != nil {
		t.Fatal(err)
	}
	told, err := scenario.Read(in, p)
	if err != nil {
		t.Fatal(err)
	}
	return told.Lines
}

const chat = `{\"type\":\"chat\",\"agent_id\":\"red-1\",\"content\":\"hi\"}`

// TestChat: known messages become steps with names in place of ids, garbage becomes raw steps, and messages with ids of
// that session become comments.
func TestChat(t *testing.T) {
	lines := read(t, `{"parley":"recording","version":1,"protocol":"session-chat","driver":"ws"}
{"n":1,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET /chat/ws"}
{"n":2,"at_ms":1,"party":"A","dir":"sent","kind":"frame","type":"text","text":"`+chat+`"}
{"n":3,"at_ms":2,"party":"A","dir":"received","kind":"frame","text":"{\"session_id\":\"2cecbdf90e0f14d80\"}"}
{"n":4,"at_ms":3,"party":"A","dir":"sent","kind":"frame","type":"text","text":"garbage"}
{"n":5,"at_ms":4,"party":"A","dir":"sent","kind":"frame","type":"text","text":"{\"x\":\"2cecbdf90e0f14d80\"}"}
`)
	got := scenario.Feature("chat", []string{"SC-001"}, lines)
	want := `Feature: chat

  @SC-001
  Scenario: chat
    * client A connects
    * client A chats with "red"
    * client A is answered by "red"
    * "red" is a new session
    * client A sends raw:
      """
      garbage
      """
    # an id of that session stands in what A sent (record 5): {"x":"2cecbdf90e0f14d80"}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAbort: a switch after an abort waits for the end of the turn, whether the recorded client had received that end
// when it sent the switch or not.
func TestAbort(t *testing.T) {
	const session = "sess_1"
	sent := func(label, body string) string {
		return `"dir":"sent","kind":"request","label":"POST ` + label + `","text":` + strconv.Quote(body) + `}`
	}
	received := func(body string) string {
		return `"dir":"received","kind":"event","text":` + strconv.Quote(`{"type":`+body+`}`) + `}`
	}
	turn := []string{`"dir":"sent","kind":"open","label":"GET /events"}`,
		received(`"connected","data":{"connectionId":"conn_1"}`),
		received(`"agent_list","data":{"agents":[{"id":"general"},{"id":"debugger"}]}`),
		sent("/session/create", `{"connectionId":"conn_1"}`),
		`"dir":"received","kind":"response","label":"200","text":"{\"session\":{\"id\":\"` + session + `\"}}"}`,
		sent("/message", `{"type":"chat","sessionId":"`+session+`","content":"[[hold x]]"}`),
		sent("/message", `{"type":"abort","sessionId":"`+session+`"}`)}
	ended := received(`"complete","data":{"sessionId":"` + session + `"}`)
	switched := sent("/message", `{"type":"switch_agent","agentId":"debugger"}`)
	for name, row := range map[string]struct {
		rest []string
		want []string
	}{
		"received before": {[]string{ended, switched}, []string{"client A aborts", "the turn of client A ends",
			`client A switches to "debugger"`}},
		"received after": {[]string{switched, ended, switched}, []string{"client A aborts",
			`client A, once idle, switches to "debugger"`}},
	} {
		text := `{"parley":"recording","version":1,"protocol":"agent-select","driver":"sse"}`
		for i, rest := range append(slices.Clone(turn), row.rest...) {
			text += fmt.Sprintf("\n"+`{"n":%d,"at_ms":%d,"party":"A",%s`, i+1, i, rest)
		}
		var got []string
		for _, l := range read(t, text+"\n") {
			got = append(got, l.Text)
		}
		if from := slices.Index(got, row.want[0]); from < 0 || from+len(row.want) > len(got) ||
			!slices.Equal(got[from:from+len(row.want)], row.want) {
			t.Errorf("%s: got %q, want %q in it", name, got, row.want)
		}
	}
}

// TestShrink: what is left is what matters, and the bound is kept.
func TestShrink(t *testing.T) {
	var lines []scenario.Line
	for _, text := range strings.Fields("a b c d e f g h i j") {
		lines = append(lines, scenario.Line{Text: text})
	}
	asked := 0
	keeps := func(some []scenario.Line) bool {
		asked++
		has := func(text string) bool {
			return slices.ContainsFunc(some, func(l scenario.Line) bool { return l.Text == text })
		}
		return has("c") && has("h")
	}
	if short := scenario.Shrink(lines, 100, keeps); len(short) != 2 || short[0].Text != "c" || short[1].Text != "h" {
		t.Errorf("got %v, want c and h", short)
	}
	asked = 0
	if scenario.Shrink(lines, 3, keeps); asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

// TestShrinkFurther: the lines of one record go together, then single lines behind the first, and one step takes
// the place of several only if their names match.
func TestShrinkFurther(t *testing.T) {
	line := func(of int, text string) scenario.Line { return scenario.Line{Text: text, Of: of} }
	lines := []scenario.Line{line(1, "A opens"), line(2, "A asks"), line(2, "A is told"), line(2, "A is glad"),
		line(3, "B opens"), line(4, "A leaves"), line(4, "B is told")}
	folds := []steps.Fold{{Steps: []string{`(?P<who>\w) opens`, `(?P<who>\w) asks`}, By: "$who comes"},
		{Steps: []string{`(?P<who>\w) opens`, `(?P<who>\w) leaves`}, By: "$who goes"}}
	has := func(some []scenario.Line, text string) bool {
		return slices.ContainsFunc(some, func(l scenario.Line) bool { return l.Text == text })
	}
	short := scenario.ShrinkFurther(lines, 100, folds, func(some []scenario.Line) bool {
		for i, l := range some { // A gets nothing that it has not asked for
			if l.Text == "A is told" && !has(some[:i], "A asks") && !has(some[:i], "A comes") {
				return false
			}
		}
		return has(some, "A is told") && has(some, "B opens")
	})
	var got []string
	for _, l := range short {
		got = append(got, l.Text)
	}
	if want := []string{"A comes", "A is told", "B opens"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNobody: a request without a party belongs to the only client that is connected; of several, nobody can tell.
func TestNobody(t *testing.T) {
	const head = `{"parley":"recording","version":1,"protocol":"agent-select"}` + "\n"
	opens := func(n int, party string) string {
		return fmt.Sprintf(`{"n":%d,"at_ms":%d,"party":%q,"dir":"sent","kind":"open","label":"GET /events"}
{"n":%d,"at_ms":%d,"party":%q,"dir":"received","kind":"open","label":"stream","status":200,"to":%d}
`, n, n, party, n+1, n+1, party, n)
	}
	const asks = `{"n":9,"at_ms":9,"dir":"sent","kind":"request","label":"POST /message",` +
		`"text":"{\"type\":\"switch_agent\",\"agentId\":\"debugger\"}"}` + "\n"
	for rest, want := range map[string]string{
		opens(1, "C1"): `client C1 switches to "debugger"`,
		opens(1, "C1") + opens(3, "C2"): `nobody could tell which client sent (record 9): ` +
			`POST /message {"type":"switch_agent","agentId":"debugger"}`,
	} {
		lines := read(t, head+rest+asks)
		if !slices.ContainsFunc(lines, func(l scenario.Line) bool { return l.Text == want }) {
			t.Errorf("got %+v, want %q in it", lines, want)
		}
	}
}
