package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/openai"
	"parley/internal/script"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/simulator/counterpart"
	"parley/simulator/scripts"
	"parley/steps"
	"parley/steps/protocols"
	"parley/target"
	"parley/transport/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within bounds each wait; only a failing test uses it up.
const within = 20 * time.Second

// TestReady checks that each script has the name of its file, and a title.
func TestReady(t *testing.T) {
	all := scripts.List("")
	for _, s := range all {
		text, err := scripts.Text(s.Protocol, s.Name)
		if err != nil || s.Title == "" || s.Source == "" || len(text) == 0 {
			t.Errorf("%s %s: %v, %q, %q", s.Protocol, s.Name, err, s.Title, s.Source)
		}
		if _, ok := played[s.Protocol+" "+s.Name]; !ok && s.Client() == "" && s.As != "model" {
			t.Errorf("nobody plays %s of %s", s.Name, s.Protocol)
		}
	}
	for _, p := range protocols.All.Names() {
		if n := len(scripts.List(p)); n < 4 {
			t.Errorf("%s has %d ready scripts", p, n)
		}
	}
	if _, err := scripts.Get("agent-select", "swich"); err == nil || !strings.Contains(err.Error(),
		`did you mean "switch"?`) {
		t.Error(err)
	}
}

// TestDocumented checks that the example of the reference is a valid script, and that mistakes are reported as the
// reference says.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/simulator-scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if _, err := script.Parse("example", []byte(example)); err != nil {
		t.Error(err)
	}
	wrong := strings.Replace(example, "answer:", "anwser:", 1)
	wrong = strings.Replace(wrong, `"${agent}", agent:`, `"${agnt}", agent:`, 1)
	_, err = script.Parse("my-server.yaml", []byte(wrong))
	for _, line := range strings.Split(fmt.Sprint(err), "\n") {
		if _, told, _ := strings.Cut(line, ": "); !strings.Contains(string(page), ": "+told) {
			t.Errorf("not as documented: %s", line)
		}
	}
}

// tested says how a tester plays against a script that is a server.
type tested struct {
	as     string // the protocol of the steps; "": that of the script
	driver string // "": the first
	role   string // of the target; "": the default one
	// steps; "!" and a step that must fail; "A>" and a raw message; "?" and words of the script's next message
	lines []string
}

const (
	session  = "client A has a session"
	switches = `client A switches to "debugger"`
	switched = `client A is switched from "general" to "debugger"`
	abc      = `a session of agents "a", "b" and "c" where agent "a" is active`
)

var played = map[string]tested{
	"agent-select switch": {driver: "ws", lines: []string{session, switches, switched, `client A switches to "nobody"`,
		`client A is refused with "agent_not_found"`}},
	"agent-select refuse": {driver: "ws", lines: []string{session, switches, "!" + switched, "? error"}},
	"agent-select busy": {driver: "ws", lines: []string{session, switches, switched, `A> {"type":"chat","content":"x"}`,
		"? message", `A> {"type":"switch_agent","agentId":"general"}`, "? error agent_busy", `A> {"type":"abort"}`,
		"? complete", `A> {"type":"switch_agent","agentId":"general"}`, "? agent_switched General"}},
	"agent-select confirm": {driver: "ws", lines: []string{session, `A> {"type":"chat","content":"x"}`,
		"? tool_confirmation_request run_command"}},
	"agent-select restart": {driver: "ws", lines: []string{session, switches, "!" + switched}},

	"agent-client switch": {as: "agent-select", driver: "sse", lines: []string{session, switches, switched}},
	"agent-client late":   {as: "agent-select", driver: "sse", lines: []string{session, switches, switched}},
	"agent-client refuse": {as: "agent-select", driver: "sse", lines: []string{session, switches, "!" + switched,
		"? error"}},
	"agent-client busy": {as: "agent-select", driver: "sse", lines: []string{session, switches, switched,
		`A> POST /message {"type":"chat","content":"x"}`, "? message", switches, "? error agent_busy"}},
	"agent-client confirm": {as: "agent-select", driver: "sse", lines: []string{session,
		`A> POST /message {"type":"chat","content":"x"}`, "? tool_confirmation_request run_command"}},

	"session-chat echo": {lines: []string{`client A chats with "red"`, `client A receives the answer of "red"`,
		`client A is answered by "red"`}},
	"session-chat interrupt": {lines: []string{`client A chats with "red"`, "? stream",
		`A> {"type":"interrupt","agent_id":"red"}`,
		"? result interrupted", `A> {"type":"interrupt","agent_id":"red"}`, "? error"}},
	"session-chat error": {lines: []string{`client A chats with "red"`, "? error", "? result error"}},
	"session-chat crash": {lines: []string{`client A chats with "red"`, `!client A is answered by "red"`}},

	"session-runtime turn": {driver: "ws", lines: []string{abc, `the user says "t1"`, `"t1" reaches agent "a"`,
		`"t1" is accepted`, `agent "a" acknowledges "t1"`, "? AGENT_STARTED", `agent "a" ends "t1"`,
		`the frontend receives the output of "t1"`}},
	"session-runtime timeout": {driver: "ws", lines: []string{abc, `the user says "t1"`, `"t1" reaches agent "a"`,
		`"t1" is accepted`, "? ROUTE_TIMEOUT"}},
	"session-runtime switch": {driver: "ws", lines: []string{abc, `the user says "t1"`, `"t1" reaches agent "a"`,
		`the user switches to agent "b"`, "? AGENT_SWITCHED", `the user says "t2"`, `"t2" reaches agent "b"`}},
	"session-runtime silent": {driver: "ws", lines: []string{abc, `the user says "t1"`, `!"t1" reaches agent "a"`}},

	"external-agent host": {role: "relay", lines: []string{joins, "? relay.joined", starts, "? state.updated", calls,
		`? tool.result "ok":true`, "? state.updated m1", looks, "? snapshot.state m1", ends, "? session.ended"}},
	"external-agent refuse": {role: "relay", lines: []string{joins, starts, "? state.updated", calls,
		`? tool.result "ok":false`}},
	"external-agent slow": {role: "relay", lines: []string{joins, starts, "? state.updated", calls,
		`? tool.result "ok":true`}},
	"external-agent gone": {role: "relay", lines: []string{joins, starts, "? state.updated", calls, "? closed"}},
}

const (
	joins  = `A> {"v":"mvp-0.2","type":"relay.join","id":"1","payload":{"role":"agent","sessionId":"x"}}`
	starts = `A> {"v":"mvp-0.2","type":"session.start","id":"2","payload":{"studyId":"s","participantId":"p"}}`
	calls  = `A> {"v":"mvp-0.2","type":"tool.call","id":"3","payload":{"toolName":"select",` +
		`"params":{"itemId":"m1"},"reason":"r"}}`
	looks = `A> {"v":"mvp-0.2","type":"snapshot.get","id":"4","payload":{}}`
	ends  = `A> {"v":"mvp-0.2","type":"session.end","id":"5","payload":{"reason":"r"}}`
)

// open plays a script against the parties of a tester.
func open(t *testing.T, s *script.Script, how tested) *simulator.Session {
	t.Helper()
	p := play(t, s, "")
	protocol := how.as
	if protocol == "" {
		protocol = s.Protocol
	}
	profile, err := protocols.Kinds().ForURL(protocol, p.URL())
	if err != nil {
		t.Fatal(err)
	}
	profile.Limits.Event.Duration = time.Second
	o := runner.Options{Protocols: protocols.All, Profile: profile, Launcher: target.NewLauncher(profile), Role: how.role}
	if how.driver != "" {
		o.Drivers = []string{how.driver}
	}
	live, err := simulator.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { live.Close() })
	return live
}

// play plays a script; at is the URL of the program if the party is a client.
func play(t *testing.T, s *script.Script, at string) *counterpart.Play {
	t.Helper()
	p, err := counterpart.Open(context.Background(), counterpart.Options{Protocol: s.Protocol, As: s.As, Script: s,
		Connect: at, TypeOf: bundled.All.Find(s.Protocol).TypeOf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestServers plays the scripts that are servers against the steps of a tester.
func TestServers(t *testing.T) {
	for name, how := range played {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocol, name, _ := strings.Cut(name, " ")
			s, err := scripts.Get(protocol, name)
			if err != nil {
				t.Fatal(err)
			}
			live := open(t, s, how)
			if how.role != "" {
				do(t, live, "agent A connects", false)
			}
			mark := 0
			for _, line := range how.lines {
				if words, ok := strings.CutPrefix(line, "? "); ok {
					mark = hears(t, live, mark, words)
				} else if body, ok := strings.CutPrefix(line, "A> "); ok {
					if mark, err = live.Send(t.Context(), "A", []byte(body)); err != nil {
						t.Fatalf("%s: %v", line, err)
					}
				} else {
					text, fails := strings.CutPrefix(line, "!")
					before := live.Transcript().Len()
					do(t, live, text, fails)
					if sent(live.Transcript(), before) { // effects of an earlier step may have arrived by now
						mark = before
					}
				}
			}
		})
	}
}

// sent reports whether there is a record after a mark that the tester has sent.
func sent(of *transcript.Transcript, mark int) bool {
	return slices.ContainsFunc(of.Page(mark, of.Len()-mark), func(r transcript.Record) bool {
		return r.Dir == transcript.Sent
	})
}

// do does a step.
func do(t *testing.T, live *simulator.Session, text string, fails bool) {
	t.Helper()
	got, err := live.Do(t.Context(), text, steps.StepArg{})
	if failed := got.Err != nil || len(got.Failures) > 0; err != nil || failed != fails {
		t.Fatalf("%s: %v, %v, %v\n%s", text, err, got.Err, got.Failures, last(live.Transcript()))
	}
}

func last(of *transcript.Transcript) string {
	return strings.Join(of.Excerpt(of.Len(), 12, 0, 200), "\n")
}

// hears waits for a record that contains all words, and returns its number.
func hears(t *testing.T, live *simulator.Session, mark int, words string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	r, err := live.Transcript().Await(ctx, mark, func(r *transcript.Record) bool {
		text := string(r.Kind) + " " + string(r.Bytes)
		return r.Dir == transcript.Received && !slices.ContainsFunc(strings.Fields(words), func(word string) bool {
			return !strings.Contains(text, word)
		})
	})
	if err != nil {
		t.Fatalf("no %s\n%s", words, last(live.Transcript()))
	}
	return r.N
}

// TestModels sends requests to the scripts that are models, as a bundled server does.
func TestModels(t *testing.T) {
	for _, s := range scripts.List("") {
		if s.As != "model" {
			continue
		}
		t.Run(s.Protocol+" "+s.Name, func(t *testing.T) {
			t.Parallel()
			client := openai.New(play(t, s, "").URL()+"/v1", "")
			defer client.Close()
			asks := func() (said string, err error) {
				err = client.Answer(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser,
					Text: "Well?"}}},
					func(p llm.Part) error { said += p.Text; return nil })
				return said, err
			}
			said, err := asks()
			if s.Name == "model-fails" {
				var failure *llm.Failure
				if !errors.As(err, &failure) || failure.Status != http.StatusTooManyRequests {
					t.Errorf("at first: %q, %v", said, err)
				}
				said, err = asks()
			}
			if err != nil || said == "" {
				t.Errorf("%q, %v", said, err)
			}
		})
	}
}

// TestClients plays the scripts that are clients against the bundled servers, up to their last state.
func TestClients(t *testing.T) {
	for _, s := range scripts.List("") {
		if s.Client() == "" {
			continue
		}
		t.Run(s.Protocol+" "+s.Name, func(t *testing.T) {
			t.Parallel()
			party := bundled.All.Find(s.Protocol).Parties()[0]
			base, stop, err := party.Start(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			p := play(t, s, base)
			defer p.Close()
			timeout := time.After(within)
			for p.State().At != "done" {
				select {
				case <-p.Changed():
				case <-time.After(20 * time.Millisecond):
				case <-timeout:
					t.Fatalf("it is %q\n%s", p.State().At,
						last(p.Transcript()))
				}
			}
		})
	}
}
