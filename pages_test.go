package parley_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/reference-server/bundled"
	"parley/reference-server/mutants/pages"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// controls is a page that has every element, and a script of its own.
const controls = `<!doctype html><meta charset="utf-8"><title>p</title>
<input id="serverUrl"><button id="connectBtn">连接</button><button id="disconnectBtn">断开</button>
<header><h1>chat</h1><span style="float:right"><select id="mainAgentSelect" disabled><option disabled>(未连接)</option></select><button id="newSessionBtn">新建会话</button></span></header>
<div id="chatBox" style="clear:both;height:100px"></div><textarea id="messageInput"></textarea><button id="sendBtn">发送</button><button id="abortBtn">终止</button>
<p>请先连接服务器</p><div id="eventLog"></div><ul id="sessionList"></ul>
<script>const $ = id => document.getElementById(id); const server = () => $("serverUrl").value;
const connect = on => { const s = new EventSource(server() + "/events"); s.onmessage = e => on(JSON.parse(e.data)); return s };
const post = (path, body) => fetch(server() + path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)}).then(r => r.json());
%s</script>`

// listing shows the agents, and does whatever it does besides.
const listing = `
const show = e => { if (e.type !== "agent_list") return; $("mainAgentSelect").disabled = false; $("mainAgentSelect").replaceChildren(...e.data.agents.map(a => {
  const o = document.createElement("option"); o.value = a.id; o.textContent = a.name; o.selected = a.id === e.data.currentAgentId; return o })) };
$("connectBtn").onclick = () => connect(show);
`

// still are clauses that a page keeps which has its elements and connects to nothing.
var still = []string{"AC-011", "AC-028", "AC-029", "AC-092", "AC-093"}

// badPages are pages that are no client, in one way or another. None of them may hang the suite, or pass by saying nothing.
var badPages = []struct {
	name   string
	exit   int
	serve  http.HandlerFunc // nil: the page
	page   string
	script string // of controls
	may    []string
	reason string
}{
	{name: "blank", exit: 1, page: "<!doctype html>", reason: "has nothing"},
	{name: "text", exit: 1, page: "请先连接服务器 (未连接)", reason: "says what it should and has no elements", may: []string{"AC-093"}},
	{name: "elements alone", exit: 1, script: "", reason: "does nothing", may: still},
	{name: "throws", exit: 1, script: `throw new Error("no")`, reason: "its script ends at once", may: still},
	{name: "connects", exit: 1, script: `$("connectBtn").onclick = () => connect(() => {})`, reason: "connects, and shows nothing", may: append([]string{"AC-025", "AC-015"}, still...)},
	{name: "alerts for ever", exit: 1, script: `$("connectBtn").onclick = () => { for (;;) alert("once more") }`, reason: "never stops to alert", may: still},
	{name: "alerts at once", exit: 1, script: `for (let i = 0; i < 50; i++) alert("hello " + i)`, reason: "greets with alerts", may: still},
	{name: "hangs when clicked", exit: 1, script: `$("connectBtn").onclick = () => { for (;;); }`, reason: "never comes back from a click", may: still},
	{name: "hangs at once", exit: 3, script: `for (;;);`, reason: "never loads"},
	{name: "reloads for ever", exit: 1, script: `$("connectBtn").onclick = () => location.reload()`, reason: "reloads when it is to connect", may: still},
	{name: "goes elsewhere", exit: 1, script: `$("connectBtn").onclick = () => { location.href = "about:blank" }`, reason: "leaves", may: still},
	{name: "closes itself", exit: 1, script: `$("connectBtn").onclick = () => window.close()`, reason: "closes itself", may: still},
	{name: "floods", exit: 1, script: `$("connectBtn").onclick = () => setInterval(() => { $("chatBox").textContent = Math.random() }, 0)`, reason: "changes for ever", may: still},
	{name: "grows", exit: 1, script: `$("connectBtn").onclick = () => setInterval(() => { $("eventLog").append(...Array.from({length: 200}, () => { const d = document.createElement("div"); d.textContent = "x".repeat(500); return d })) }, 5)`,
		reason: "grows for ever", may: still},
	{name: "asks for ever", exit: 1, script: `$("connectBtn").onclick = () => setInterval(() => post("/message", {type: "chat", content: "x"}).catch(() => {}), 1)`, reason: "asks for ever", may: append([]string{"AC-015"}, still...)},
	{name: "cannot be found", exit: 3, serve: http.NotFound, reason: "is not there"},
	{name: "never answers", exit: 3, serve: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, reason: "never answers"},
	{name: "is no page", exit: 1, serve: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"hello":"world"}`)
	}, reason: "is no page"},
	// These get further; everything that they do not show must not pass.
	{name: "lists alone", exit: verdict.ExitIncomplete, script: listing, reason: "shows agents, and asks for nothing", may: append([]string{"AC-006", "AC-010", "AC-023", "AC-025", "AC-015"}, still...)},
}

func TestBadPages(t *testing.T) {
	browsers := make(chan struct{}, 4) // side by side
	for _, b := range badPages {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			browsers <- struct{}{}
			defer func() { <-browsers }()
			page := b.page
			if page == "" {
				page = fmt.Sprintf(controls, b.script)
			}
			serve := b.serve
			if serve == nil {
				serve = func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					fmt.Fprint(w, page)
				}
			}
			s := httptest.NewServer(serve)
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			p := target.DefaultFor("agent-client")
			p.Name, p.URL = b.name, s.URL
			p.Limits.Open.Duration, p.Limits.Event.Duration = 5*time.Second, 300*time.Millisecond
			p.Limits.Quiet.Duration, p.Limits.Scenario.Duration = 50*time.Millisecond, 10*time.Second
			judgesBad(t, p, b.exit, b.may, b.reason)
		})
	}
}

// odd pages differ from the bundled one in what no document speaks of.
var oddPages = []struct {
	name    string
	tags    string
	patches []pages.Patch
}{
	{name: "lets a user abort from the echo on", tags: "@AC-079", patches: slices.Concat(unaware, []pages.Patch{
		{File: "app.js", Old: streamed, New: "  if (event.data.role === \"user\") setRunning(true);\n"}})},
	{name: "lets a user abort from the first piece on", tags: "@AC-079", patches: unaware},
	{name: "takes a whole message for the end", tags: "@AC-079", patches: slices.Concat(unaware, []pages.Patch{
		{File: "app.js", Old: streamed, New: "  if (event.data.role !== \"user\") setRunning(event.data.streaming === true);\n"}})},
	{name: "is slow to show what it has asked", tags: "@AC-062", patches: []pages.Patch{
		{File: "app.js", Old: "  log.add(\"sent\", ", New: "  await new Promise((then) => setTimeout(then));\n  log.add(\"sent\", "}}},
}

const streamed = "  if (event.data.streaming) setRunning(true);\n"

// unaware does not take a turn for begun because a message was sent, or a switch refused.
var unaware = []pages.Patch{
	{File: "app.js", Old: "  const before = running;\n  setRunning(true);\n", New: "  const before = running;\n"},
	{File: "app.js", Old: "    setRunning(true);\n    options.action", New: "    options.action"},
}

// TestOddPages: a page is not failed for how it tells that a turn runs, or for what else is its own affair.
func TestOddPages(t *testing.T) {
	for _, odd := range oddPages {
		t.Run(odd.name, func(t *testing.T) {
			p := target.DefaultFor("agent-client")
			bundled.Unhurry(&p.Limits)
			res, err := runner.Run(t.Context(), runner.Options{Profile: p, Launcher: &bundled.PageLauncher{Patch: pages.Mutant{ID: odd.name, Patches: odd.patches}.Patch},
				Tags: odd.tags, AllowIncomplete: true, Again: "parley run"})
			if err != nil {
				t.Fatal(err)
			}
			if res.Exit != verdict.ExitConformant {
				t.Errorf("exit %d\n%s", res.Exit, console(t, res))
			}
		})
	}
}

// TestNoBrowser: a page cannot be judged without a browser, and the verdict says what is missing.
func TestNoBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p, err := target.Load("profiles/plain-page.yaml")
	if err != nil {
		t.Fatal(err)
	}
	res, err := runner.Run(t.Context(), runner.Options{Profile: p, Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	if why := res.Runs[0].Environment; res.Exit != verdict.ExitUnreachable || !strings.Contains(why, "chromium") {
		t.Errorf("exit %d (%s)", res.Exit, why)
	}
}
