package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/features/verdict"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
)

// startTarget starts the bundled target of a role, with a fault or none.
func startTarget(t *testing.T, protocol, role, fault string) string {
	t.Helper()
	b := bundle.For(suite.Kinds(), protocol, role)
	l, found := b.Launcher, fault == ""
	for _, m := range bundle.Mutants(protocols.Kinds(), protocol, role) {
		if m.ID == fault {
			l, found = m.Launch(b.Brain), true
		}
	}
	if !found {
		t.Fatalf("there is no mutant %s", fault)
	}
	running, err := l.Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
	return running.BaseURL()
}

// causeTraffic runs scenarios of the suite against a URL.
func causeTraffic(protocol, role, tags string) func(t *testing.T, url string) {
	return func(t *testing.T, url string) {
		t.Helper()
		_, said, code := invoke(t, "run", url, "--protocol", protocol, "--role", role, "--tags", tags, "--out", t.TempDir())
		if code != verdict.ExitIncomplete && code != verdict.ExitNonConformant {
			t.Fatalf("exit %d: %s", code, said)
		}
	}
}

// visitPage has a page in Python, which uses no code of Parley, switch agents, and then do more.
func visitPage(more string) func(t *testing.T, url string) {
	return func(t *testing.T, url string) {
		t.Helper()
		got := speaks(t, "python3", "-c", "import sys\nfrom client import Client\nc = Client(sys.argv[1])\n"+
			"print(c.switch('debugger'))\nc.close()", url)
		if got == "" || strings.Contains(got, "Traceback") {
			t.Fatal(got)
		}
		if more != "" {
			res, err := quickClient(t).Post(url+more, "application/json", strings.NewReader(`{"id":"mine"}`))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
		}
	}
}

// proxied are targets behind a proxy, of each protocol and side, each with a fault that traffic shows.
var proxied = []struct {
	protocol, role string
	fault, clause  string // "" for the fault: it is one of the client
	right, wrong   func(t *testing.T, url string)
}{
	{"session-chat", "server", "no-timestamp", "SC-044",
		causeTraffic("session-chat", "server", "@SC-038 or @SC-044"), nil},
	{"agent-select", "server", "no-names-in-list", "AS-114", causeTraffic("agent-select", "server", "@AS-114 or @AS-084"),
		nil},
	{"external-agent", "host", "snapshot-ui-is-text", "EA-043",
		causeTraffic("external-agent", "host", "@EA-043 or @EA-039"), nil},
	{"session-runtime", "server", "accepted-without-turn", "RT-076", causeTraffic("session-runtime", "server",
		"@RT-076"), nil},
	{"agent-client", "client", "", "AC-015", visitPage(""), visitPage("/agents")},
}

// TestRecordingJudgedAsLive: what parley proxy has recorded is judged as it was live: the same clauses have the same
// outcomes, at the same records, for the same reasons; the exit code is the same.
func TestRecordingJudgedAsLive(t *testing.T) {
	for _, row := range proxied {
		for _, broken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/broken=%v", row.protocol, broken), func(t *testing.T) {
				t.Parallel()
				serving, server, fault, act := row.protocol, row.role, "", row.right
				if row.protocol == "agent-client" {
					serving, server = "agent-select", "server"
				}
				switch {
				case broken && row.wrong != nil:
					act = row.wrong
				case broken:
					fault = row.fault
				}
				live, file, exit := recordLive(t, row.protocol, startTarget(t, serving, server, fault), act)
				if got := clauseOf(live, row.clause).Outcome == verdict.Failed; got != broken || (exit == 1) != broken {
					t.Fatalf("%s is broken: %v, exit %d", row.clause, got, exit)
				}
				out := t.TempDir()
				text, said, code := invoke(t, "recording", "judge", file, "--out", out)
				if code != exit {
					t.Errorf("exit %d, and live %d\n%s%s", code, exit, text, said)
				}
				sameJudged(t, live, resultsIn(t, out))
			})
		}
	}
}

// TestRecordingJudgedInRoles: a recording names the roles in which it was judged live, if they are not the usual ones,
// clients that are no targets among them; and the lines of a command are judged as live.
func TestRecordingJudgedInRoles(t *testing.T) {
	live, file, exit := recordLive(t, "session-chat", startTarget(t, "session-chat", "server", ""),
		func(t *testing.T, url string) { runChatTurn(t, quickClient(t), url) }, "--role", "server", "--role", "frontend")
	out := t.TempDir()
	_, said, code := invoke(t, "recording", "judge", file, "--out", out)
	if again := resultsIn(t, out); code != exit || len(again.Runs) != 2 || clauseOf(again, "SC-031").ID == "" {
		t.Fatalf("exit %d, and live %d: %s", code, exit, said)
	}
	sameJudged(t, live, resultsIn(t, out))

	out, file = t.TempDir(), filepath.Join(t.TempDir(), "lines.jsonl")
	lines := `{"parley":"fence","id":"f1"}` + "\n" + `{"event":"CONTROL","subtype":"INTERRUPT","session_id":"s1"}` + "\n"
	p := startProxyReading(t, strings.NewReader(lines), "--protocol", "session-runtime", "--out", out, "--record", file,
		"--", "sh", "-c", `read -r line; echo '{"parley":"fenced","id":"f1"}'; read -r line; echo '{"event":1}'`)
	p.awaitEnd()
	live, out = resultsIn(t, out), t.TempDir()
	_, said, code = invoke(t, "recording", "judge", file, "--out", out)
	if code != live.Exit || strings.Contains(said, "none of its") {
		t.Errorf("exit %d, and live %d: %s", code, live.Exit, said)
	}
	sameJudged(t, live, resultsIn(t, out))
}

// recordLive puts a proxy before a server while a client acts, and returns its results, its recording and its exit
// code.
func recordLive(t *testing.T, protocol, server string, act func(*testing.T, string),
	flags ...string) (res *reports.Results, file string, exit int) {
	t.Helper()
	out := t.TempDir()
	file = filepath.Join(out, "passed.jsonl")
	p := startProxy(t, append([]string{server, "--protocol", protocol, "--out", out, "--record", file}, flags...)...)
	act(t, p.url())
	p.stop()
	if _, exit = p.awaitEnd(); exit != 0 && exit != 1 {
		t.Fatalf("exit %d: %s", exit, p.stderrText())
	}
	return resultsIn(t, out), file, exit
}

func clauseOf(res *reports.Results, id string) reports.Clause {
	for _, run := range res.Runs {
		for _, c := range run.Clauses {
			if c.ID == id && !c.OtherRole {
				return c
			}
		}
	}
	return reports.Clause{}
}

// said is what results say of a role: its clauses, and each connection with what was found there.
type saidOfRole struct {
	Protocol, Role string
	Verdict        verdict.Verdict
	Clauses        []string
	Conns          []string
}

// sameJudged checks that a recording was judged as live.
func sameJudged(t *testing.T, live, recorded *reports.Results) {
	t.Helper()
	of := func(res *reports.Results) (all []saidOfRole) {
		for _, run := range res.Runs {
			one := saidOfRole{Protocol: run.Protocol, Role: run.Role, Verdict: run.Verdict}
			for _, c := range run.Clauses {
				one.Clauses = append(one.Clauses, fmt.Sprint(c.ID, c.Outcome, c.Reason, c.Monitors))
			}
			for _, sc := range run.Scenarios {
				conn := sc.Name[strings.LastIndex(sc.Name, " ")+1:]
				if !strings.Contains(sc.Name, "connection") {
					conn = "all"
				}
				text := fmt.Sprint(conn, sc.Outcome, sc.Clauses, sc.Notes)
				for _, f := range sc.Failures {
					at, _, _ := strings.Cut(f.At, ", +") // the rest is its time, rounded
					text += fmt.Sprint("\n", f.Clause, f.Monitor, f.Level, at, f.Expected, f.Observed)
				}
				one.Conns = append(one.Conns, text)
			}
			all = append(all, one)
		}
		return all
	}
	if d := cmp.Diff(of(live), of(recorded), cmpopts.SortSlices(strings.Compare)); d != "" {
		t.Errorf("live -, recorded +:\n%s", d)
	}
	if live.Verdict != recorded.Verdict || live.Exit != recorded.Exit || !recorded.Passive {
		t.Errorf("live %s %d, recorded %s %d", live.Verdict, live.Exit, recorded.Verdict, recorded.Exit)
	}
}

// TestRecordingJudgedOfRun: the recordings of a run's scenarios are judged together, and those of a faulty target
// break its clause. A file on stdin, and one whose last line is torn, are judged up to their ends.
func TestRecordingJudgedOfRun(t *testing.T) {
	dir := t.TempDir()
	causeTrafficIn(t, dir, startTarget(t, "session-chat", "server", "no-timestamp"), "@SC-044 or @SC-038")
	files, err := filepath.Glob(filepath.Join(dir, "transcripts", "*.jsonl"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v: %v", files, err)
	}
	out := t.TempDir()
	text, said, code := invoke(t, append([]string{"recording", "judge", "--out", out, "--format", "junit,console"},
		files...)...)
	res := resultsIn(t, out)
	if code != 1 || clauseOf(res, "SC-044").Outcome != verdict.Failed || !strings.Contains(text, "SC-044") {
		t.Errorf("exit %d\n%s\n%s", code, text, said)
	}
	for _, f := range files {
		if !slices.ContainsFunc(res.Runs[0].Scenarios, func(sc reports.Scenario) bool {
			return strings.HasPrefix(sc.Name, "the recording "+f)
		}) && !strings.Contains(said, f+": none of its ") {
			t.Errorf("%s is judged nowhere\n%s", f, said)
		}
	}
	junit, err := os.ReadFile(filepath.Join(out, "junit.xml"))
	if err != nil || !strings.Contains(string(junit), `type="failed"`) {
		t.Errorf("%v\n%s", err, junit)
	}
	if _, err := os.Stat(filepath.Join(out, "transcripts", "recording-SC-recording-01.txt")); err != nil {
		t.Error(err)
	}
}

func causeTrafficIn(t *testing.T, dir, url, tags string) {
	t.Helper()
	if _, said, code := invoke(t, "run", url, "--protocol", "session-chat", "--tags", tags, "--out", dir); code != 1 {
		t.Fatalf("exit %d: %s", code, said)
	}
}

// chatFile writes a recording of session-chat with more lines behind a socket that is open, and returns its name.
func chatFile(t *testing.T, name string, more ...string) string {
	t.Helper()
	head := []string{`{"parley":"recording","version":1,"protocol":"session-chat","url":"http://127.0.0.1:1"}`,
		`{"n":1,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET /chat/ws (upgrade)"}`,
		`{"n":2,"at_ms":1,"party":"A","dir":"received","kind":"open","label":"socket","status":101,"to":1}`}
	return writtenFile(t, name, strings.Join(append(head, more...), "\n")+"\n")
}

func writtenFile(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// frame is a line of a recording.
func frame(n, ms int, dir, text string) string {
	return fmt.Sprintf(`{"n":%d,"at_ms":%d,"party":"A","dir":%q,"kind":"frame","type":"text","text":%q}`, n, ms, dir,
		text)
}

// TestRecordingJudgedInPart: what cannot be judged of a file is said, and the rest is judged. The message without a
// timestamp, which breaks SC-044, is before the place.
func TestRecordingJudgedInPart(t *testing.T) {
	chat := frame(3, 2, "sent", `{"type":"chat","agent_id":"a","content":"hi"}`)
	wrong := frame(4, 3, "received", `{"message_type":"system","agent_id":"a","session_id":"s","content":{}}`)
	whole, ping := chatFile(t, "whole.jsonl", chat, wrong), frame(5, 4, "sent", `{"type":"ping"}`)
	torn := chatFile(t, "torn.jsonl", chat, wrong, `{"n":5,"at_m`)
	text, err := os.ReadFile(torn)
	if err == nil {
		err = os.WriteFile(torn, text[:len(text)-1], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	damaged := chatFile(t, "damaged.jsonl", chat, wrong, `{"n":5,"at_ms":`, ping)
	foreign := chatFile(t, "foreign.jsonl", frame(3, 2, "sent", `{"hello":1}`))
	for _, row := range []struct {
		name, file string
		code       int
		said, note string
	}{
		{"whole", whole, 1, "", ""},
		{"torn", torn, 1, torn + ": the last line is truncated, and left out (it is judged up to record 4)",
			"up to record 4"},
		{"damaged", damaged, 2, damaged + ": line 6: ", "up to record 4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			out := t.TempDir()
			_, said, code := invoke(t, "recording", "judge", row.file, "--out", out)
			res := resultsIn(t, out)
			if code != row.code || !strings.Contains(said, row.said) ||
				clauseOf(res, "SC-044").Outcome != verdict.Failed {
				t.Errorf("exit %d, SC-044 %s: %s", code, clauseOf(res, "SC-044").Outcome, said)
			}
			if notes := fmt.Sprint(res.Runs[0].Scenarios[0].Notes); !strings.Contains(notes, row.note) {
				t.Errorf("the notes are %s", notes)
			}
		})
	}
	out := t.TempDir()
	_, said, code := invoke(t, "recording", "judge", foreign, "--out", out)
	if code != verdict.ExitIncomplete ||
		!strings.Contains(said, foreign+": none of its 3 records is of session-chat, so nothing of it is judged") {
		t.Errorf("exit %d: %s", code, said)
	}
	if c := clauseOf(resultsIn(t, out), "SC-044"); c.Outcome != verdict.NotTested || c.Reason != runner.NeverShown {
		t.Errorf("SC-044 is %s: %s", c.Outcome, c.Reason)
	}
}

// TestRecordingJudgedFromStdin: a recording, and HAR, whose protocol is that of its messages.
func TestRecordingJudgedFromStdin(t *testing.T) {
	_, file, _ := recordLive(t, "agent-select", startTarget(t, "agent-select", "server", ""), visitPage(""))
	exported, said, code := invoke(t, "recording", file, "--to", "har")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	named := writtenFile(t, "page.har", exported)
	for _, row := range []struct {
		name, stdin string
		args        []string
		said, role  string
	}{
		{"recording", string(text), []string{"-"}, "agent-select: judges ", "server"},
		{"HAR", exported, []string{"-"}, "parley: - is judged as agent-select, whose messages it has", "server"},
		{"HAR by name", "", []string{named}, "page.har is judged as agent-select, whose messages it has", "server"},
		{"HAR of the page", exported, []string{"-", "--protocol", "agent-client"}, "agent-client: judges ", "client"},
	} {
		t.Run(row.name, func(t *testing.T) {
			out := t.TempDir()
			var errs strings.Builder
			s := &streams{In: strings.NewReader(row.stdin), Out: io.Discard, Err: &errs}
			root := rootCommand(s)
			root.SetArgs(append([]string{"recording", "judge", "--out", out}, row.args...))
			code := s.exitWith(root.ExecuteContext(t.Context()))
			res := resultsIn(t, out)
			if code != 0 || !strings.Contains(errs.String(), row.said) || res.Runs[0].Role != row.role {
				t.Errorf("exit %d, %s: %s", code, res.Runs[0].Role, &errs)
			}
			passed := 0
			for _, c := range res.Runs[0].Clauses {
				if c.Outcome == verdict.Passed {
					passed++
				}
			}
			if passed < 10 || strings.Contains(errs.String(), "single records") {
				t.Errorf("%d clauses passed: %s", passed, &errs)
			}
		})
	}
}

// TestRecordingJudgeMistakes: one line says what is wrong, and how to mend it.
func TestRecordingJudgeMistakes(t *testing.T) {
	chat := chatFile(t, "chat.jsonl", frame(3, 2, "sent", `{"type":"ping"}`))
	other := writtenFile(t, "other.jsonl", `{"parley":"recording","version":1,"protocol":"agent-select"}`+"\n")
	nameless := writtenFile(t, "nameless.jsonl", `{"parley":"recording","version":1}`+"\n")
	strange := writtenFile(t, "strange.jsonl", `{"parley":"recording","version":1,"protocol":"gossip"}`+"\n")
	client := writtenFile(t, "client.jsonl",
		`{"parley":"recording","version":1,"protocol":"session-chat","role":"king"}`+"\n")
	for _, one := range []struct {
		args []string
		want string
	}{
		{nil, "name a FILE"},
		{[]string{"none.jsonl"}, "none.jsonl: no such file"},
		{[]string{writtenFile(t, "empty.jsonl", "")}, "line 1: it is empty or torn"},
		{[]string{writtenFile(t, "notes.txt", "hello\n")}, "notes.txt: line 1: "},
		{[]string{writtenFile(t, "cut.har", `{"log":{"version":"1.2","entries":[`)}, "cut.har: "},
		{[]string{"-", "-"}, "stdin is read once"},
		{[]string{chat, other}, "chat.jsonl is of session-chat, and " + other +
			" of agent-select (judge each protocol on its own)"},
		{[]string{nameless}, "it does not say of which protocol it is, and has messages of none (name it: --protocol "},
		{[]string{strange}, "strange.jsonl: "},
		{[]string{client},
			"its header says that king was judged, of which session-chat has no clauses: those are of server or frontend"},
		{[]string{chat, "--protocol", "session-chap"}, "session-chat"},
		{[]string{chat, "--role", "king"}, "king"},
		{[]string{chat, "--profile", "none.yaml"}, "none.yaml"},
		{[]string{chat, "--out", ""}, "--out is empty"},
		{[]string{chat, "--format", "pdf"}, "pdf"},
		{[]string{chat, "--fail-on", "mst"},
			`"mst" is neither must, should or none nor a clause of session-chat (did you mean "must"?)`},
		{[]string{chat, "--fail-on", "SC-003"}, "--fail-on: what is judged does not show whether SC-003 is kept"},
		{[]string{chat, "--fail-on", "none,must"}, "none stands alone"},
		{[]string{chat, "--max-duration", "ping"}, "write it like ping=2s"},
		{[]string{chat, "--max-duration", "ping=soon"}, `"soon" is no time (write it like ping=2s)`},
		{[]string{chat, "--max-duration", "ping=0s"}, `"0s" is no time`},
		{[]string{chat, "--max-duration", "pong=1s"},
			"pong has no answer in session-chat (those that have: chat, ping, connect)"},
		{[]string{chat, "--max-duration", "pin=1s"}, `pin is no message of session-chat (did you mean "ping"?`},
	} {
		args := append([]string{"recording", "judge"}, one.args...)
		if !slices.Contains(args, "--out") {
			args = append(args, "--out", t.TempDir())
		}
		_, said, code := invoke(t, args...)
		if code != 2 || !strings.Contains(said, one.want) || strings.Count(strings.TrimSpace(said), "\n") > 0 {
			t.Errorf("%v: exit %d, %q; want %q", one.args, code, said, one.want)
		}
	}
}
