package hostile_test

import (
	"fmt"
	"net/http"

	"parley/features/verdict"
)

// controls is a page that has every element and runs a given script.
const controls = `<!doctype html><meta charset="utf-8"><title>p</title>
<input id="serverUrl"><button id="connectBtn">连接</button><button id="disconnectBtn">断开</button>
<header><h1>chat</h1><span style="float:right">
<select id="mainAgentSelect" disabled><option disabled>(未连接)</option></select>
<button id="newSessionBtn">新建会话</button></span></header>
<div id="chatBox" style="clear:both;height:100px"></div>
<textarea id="messageInput"></textarea><button id="sendBtn">发送</button><button id="abortBtn">终止</button>
<p>请先连接服务器</p><div id="eventLog"></div><ul id="sessionList"></ul>
<script>const $ = id => document.getElementById(id); const server = () => $("serverUrl").value;
const connect = on => { const s = new EventSource(server() + "/events");
  s.onmessage = e => on(JSON.parse(e.data)); return s };
const post = (path, body) => fetch(server() + path,
  {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)}).then(r => r.json());
%s</script>`

// listing shows the agents on connecting and does nothing else.
const listing = `
const show = e => { if (e.type !== "agent_list") return; $("mainAgentSelect").disabled = false;
  $("mainAgentSelect").replaceChildren(...e.data.agents.map(a => {
  const o = document.createElement("option"); o.value = a.id; o.textContent = a.name;
  o.selected = a.id === e.data.currentAgentId; return o })) };
$("connectBtn").onclick = () => connect(show);
`

// still are the clauses kept by a page that has its elements and never connects.
var still = []string{"AC-011", "AC-028", "AC-029", "AC-092", "AC-093"}

// page is a page that is not a client.
type page struct {
	name   string
	exit   int
	serve  http.HandlerFunc // nil: serves page
	page   string
	script string // run by controls
	may    []string
	reason string

	says    string // part of what a failure reports; the page ends itself soon
	answers bool   // it answers some requests, which a busy machine may delay
}

// pageRows are the rows of pages.
var pageRows = rowsOfPages()

func rowsOfPages() (all []row) {
	for _, p := range pages {
		text := p.page
		if text == "" {
			text = fmt.Sprintf(controls, p.script)
		}
		h := p.serve
		if h == nil {
			h = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprint(w, text)
			}
		}
		r := row{name: p.name, peer: "page", of: "agent-client", does: p.reason, serve: web(h), may: p.may, exit: p.exit,
			says: p.says, limits: map[string]string{"open": "1m", "event": "300ms", "quiet": "50ms", "scenario": "10s"}}
		if r.says == "" {
			r.says = "AC-|cannot be opened|not loaded|the page"
		}
		switch {
		case p.exit == verdict.ExitUnreachable:
			r.limits["open"] = "5s"
		case p.answers: // however long a busy machine takes
			r.limits["event"], r.limits["scenario"] = "3s", "1m"
		case p.says != "":
			r.limits["event"], r.limits["scenario"] = "2s", "1m"
		}
		all = append(all, r)
	}
	return all
}

// pages are not clients, each in another way. None may hang the suite, or pass although it does nothing.
var pages = []page{
	{name: "blank", exit: 1, page: "<!doctype html>", reason: "has nothing"},
	{name: "text", exit: 1, page: "请先连接服务器 (未连接)", reason: "says what it should and has no elements",
		may: []string{"AC-093"}},
	{name: "elements alone", exit: 1, script: "", reason: "does nothing", may: still},
	{name: "throws", exit: 1, script: `throw new Error("no")`, reason: "its script ends at once", may: still},
	{name: "connects", exit: 1, script: `$("connectBtn").onclick = () => connect(() => {})`,
		reason: "connects, and shows nothing", may: append([]string{"AC-025", "AC-015"}, still...), answers: true},
	{name: "alerts forever", exit: 1, script: `$("connectBtn").onclick = () => { for (;;) alert("once more") }`,
		reason: "never stops to alert", may: still},
	{name: "alerts at once", exit: 1, script: `for (let i = 0; i < 10; i++) alert("hello " + i)`,
		reason: "greets with alerts", may: still},
	{name: "hangs when clicked", exit: 1, script: `$("connectBtn").onclick = () => { for (;;); }`,
		reason: "never comes back from a click", may: still},
	{name: "hangs at once", exit: 3, script: `for (;;);`, reason: "never loads"},
	{name: "reloads forever", exit: 1, script: `$("connectBtn").onclick = () => location.reload()`,
		reason: "reloads when it is to connect", may: still},
	{name: "goes elsewhere", exit: 1, script: `$("connectBtn").onclick = () => { location.href = "about:blank" }`,
		reason: "leaves", may: still},
	{name: "closes itself", exit: 1, script: `$("connectBtn").onclick = () => window.close()`, reason: "closes itself",
		may: still},
	{name: "floods", exit: 1,
		script: `$("connectBtn").onclick = () => setInterval(() => { $("chatBox").textContent = Math.random() }, 0)`,
		reason: "changes forever", may: still},
	{name: "grows", exit: 1,
		script: `$("connectBtn").onclick = () => setInterval(() => {
			$("eventLog").append(...Array.from({length: 200}, () => { const d = document.createElement("div");
			d.textContent = "x".repeat(500); return d })) }, 5)`,
		reason: "grows forever", may: still},
	{name: "asks forever", exit: 1,
		script: `$("connectBtn").onclick = () => setInterval(() =>
			post("/message", {type: "chat", content: "x"}).catch(() => {}), 1)`, reason: "asks for ever",
		may: append([]string{"AC-015"}, still...)},
	{name: "confirms forever", exit: 1, script: `$("connectBtn").onclick = () => { while (confirm("sure?") || true); }`,
		reason: "never stops to ask", says: "opened dialogs without end", may: still},
	{name: "opens windows", exit: 1,
		script: `$("connectBtn").onclick = () => setInterval(() => window.open("about:blank"), 1)`,
		reason: "opens windows for ever", says: "opened windows without end", may: still},
	{name: "floods requests", exit: 1,
		script: `$("connectBtn").onclick = () => setInterval(() => {
			for (let i = 0; i < 200; i++) fetch("/" + i).catch(() => {}) }, 1)`,
		reason: "floods requests", may: still},
	{name: "floods workers", exit: 1,
		script: `$("connectBtn").onclick = () => { for (let i = 0; i < 40; i++)
			new Worker(URL.createObjectURL(new Blob(["for (;;);"]))) }`,
		reason: "starts workers that spin", says: "started workers without end", may: still},
	{name: "eats memory", exit: 1,
		script: `$("connectBtn").onclick = () => { const all = []; setInterval(() => {
			all.push(new Uint8Array(64 << 20).fill(1)) }, 20) }`,
		reason: "eats memory", says: "used more memory than it may", may: still},
	{name: "navigates forever", exit: 1,
		script: `if (location.search) setTimeout(() => { location.href = "?" + Math.random() }, 0);
			$("connectBtn").onclick = () => { location.href = "?x" }`,
		reason: "loads itself again and again", may: still},
	{name: "cannot be found", exit: 3, serve: http.NotFound, reason: "is not there",
		says: "cannot be reached: open .* HTTP status 404"},
	{name: "never answers", exit: 3, serve: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		reason: "never answers"},
	{name: "is no page", exit: 1, serve: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"hello":"world"}`)
	}, reason: "is no page"},
	// These get further, but no clause may pass that they do not show.
	{name: "lists alone", exit: verdict.ExitIncomplete, script: listing, reason: "shows agents, and asks for nothing",
		may: append([]string{"AC-006", "AC-010", "AC-023", "AC-025", "AC-015"}, still...), answers: true},
}
