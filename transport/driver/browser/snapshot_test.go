package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

const chatPage = `<style>.gone{display:none} .ghost{opacity:0} .hid{visibility:hidden}</style>
<header class="bar top"><div class="wrap is-loading" aria-busy="true">
<select id="mainAgentSelect" class="picker" title="pick one" style="cursor:wait">
<option value="general">General</option><option value="debugger" selected>Debugger</option>` +
	`<option value="x" disabled>Gone</option></select></div>
<button id="new" title="start anew">New session</button></header>
<div class="spin">busy</div>
<input id="message" placeholder="say something"><button id="send" disabled>Send</button>
<p class="gone">not there</p><p class="ghost">not seen</p><p class="hid">hidden</p><p>seen <b>bo</b>ld</p>
<div id="chat"><p>first</p>bare<p class="gone">no</p><div><span>second</span> line</div></div>
<div id="log"><div class="log-entry log_INFO">one</div><div class="log-entry"><span class="badge error">two</span></div>
<div data-level="Warning">three</div><div class="row r4">four</div></div>`

func TestLook(t *testing.T) {
	u := openHTML(t, chatPage, driver.Page{Select: "#mainAgentSelect", Chat: "#chat", Log: "#log", Loading: ".spin",
		Levels: map[string]string{"fatal": ".r4"}, Controls: map[string]string{"new-session": "text=New session",
			"send": "#send", "message": "#message", "stop": "#stop", "none": ""}})
	l := decode(t, u.awaitKind(0, transcript.Snapshot, "").Bytes)
	if !strings.HasSuffix(l.URL, "/") {
		t.Errorf("url %q", l.URL)
	}
	l.URL = ""
	if want := "pick one start anew New session busy say something Send seen bold first bare second line"; l.Text != want {
		t.Errorf("text is %q, want %q", l.Text, want)
	}
	if diff := cmp.Diff([]string{"first", "bare", "second line"}, l.Chat); diff != "" {
		t.Errorf("chat want(-) got(+):\n%s", diff)
	}
	rows := []snapshot.Row{
		{Text: "one", Levels: []string{"entry", "info", "log"}},
		{Text: "two", Levels: []string{"badge", "entry", "error", "log"}},
		{Text: "three", Levels: []string{"warning"}}, {Text: "four", Levels: []string{"fatal", "r4", "row"}},
	}
	if diff := cmp.Diff(rows, l.Log); diff != "" {
		t.Errorf("log want(-) got(+):\n%s", diff)
	}
	if r := l.Select.Rect; r.Width <= 0 || r.Height <= 0 {
		t.Errorf("the select is at %v", r)
	}
	s := l.Select
	s.Rect = snapshot.Rect{}
	want := snapshot.Select{Control: snapshot.Control{Found: true, Visible: true, Tag: "select", ID: "mainAgentSelect",
		Text: "Debugger", Value: "debugger", Title: "pick one"},
		Busy: true, Classes: []string{"bar", "is-loading", "picker", "top", "wrap"}, Cursor: "wait", Index: 1,
		Options: []snapshot.Option{{Value: "general", Text: "General"}, {Value: "debugger", Text: "Debugger", Selected: true},
			{Value: "x", Text: "Gone", Disabled: true}}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("select want(-) got(+):\n%s", diff)
	}
	if c := l.Controls["new-session"]; !c.Visible || c.Disabled || c.ID != "new" || c.Text != "New session" {
		t.Errorf("new-session is %+v", c)
	}
	if c := l.Controls["send"]; !c.Disabled || !c.Found {
		t.Errorf("send is %+v", c)
	}
	if c, ok := l.Controls["stop"]; !ok || c.Found {
		t.Errorf("stop is %+v", c)
	}
	if len(l.Controls) != 4 || !l.Loading || l.Modal != "" || l.Cut != 0 {
		t.Errorf("controls %v, loading %v, modal %q, cut %d", l.Controls, l.Loading, l.Modal, l.Cut)
	}
	if diff := cmp.Diff(l.Select, u.presentPage().Select); diff != "" {
		t.Errorf("Look is another than what was recorded:\n%s", diff)
	}
}

func TestBetween(t *testing.T) {
	const sel, fresh = `<select id=s><option>A</select>`, `<button id=n>New</button>`
	rows := []struct {
		reason, html string
		want         int
	}{
		{"side by side", sel + fresh, 0},
		{"the other way round", fresh + sel, 0},
		{"a button, a link and an input between", sel + `<button>b</button><a href="#">a</a><input>` + fresh, 3},
		{"invisible elements do not count", sel + `<button hidden>b</button><span>text</span>` + fresh, 0},
		{"elements elsewhere do not count", `<button>x</button>` + sel + fresh + `<button>y</button>`, 0},
		{"not in one row", sel + "<hr>" + fresh, -1},
		{"one is missing", sel, -1},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			u := openHTML(t, r.html, driver.Page{Select: "#s", Controls: map[string]string{"new-session": "#n"}})
			if got := u.presentPage().Between; got != r.want {
				t.Errorf("between is %d, want %d", got, r.want)
			}
		})
	}
}

// TestLookFollows: each visible change is recorded once.
func TestLookFollows(t *testing.T) {
	const html = `<select id=s><option>A<option>B</select><p id=p class=x>text</p><input id=i><div id=host></div>` +
		`<dialog id=d>really?</dialog>
<script>const s=document.getElementById('s'),p=document.getElementById('p'),i=document.getElementById('i'),` +
		`d=document.getElementById('d');
const root=document.getElementById('host').attachShadow({mode:'open'});root.innerHTML='<em>shade</em>';
const later=(f)=>setTimeout(f,0);
addEventListener('keydown',(e)=>({1:()=>later(()=>{p.firstChild.data='other'}),2:()=>later(()=>{s.value='B'}),3:()=>` +
		`later(()=>{s.disabled=true}),
4:()=>later(()=>{root.firstChild.textContent='light'}),5:()=>later(()=>d.showModal()),6:()=>later(()=>` +
		`{i.value='typed'}),7:()=>later(()=>{p.style.transition='opacity 1ms';p.style.opacity=0}),
8:()=>later(()=>{history.pushState(0,'','#h')})})[e.key]?.())</script>`
	u := openHTML(t, html, driver.Page{Select: "#s", Controls: map[string]string{"i": "#i"}})
	rows := []struct {
		reason, key string
		match       func(snapshot.Page) bool
	}{
		{"text", "1", func(l snapshot.Page) bool { return strings.HasPrefix(l.Text, "other") }},
		{"a property of the select", "2", func(l snapshot.Page) bool { return l.Select.Index == 1 && l.Select.Value == "B" }},
		{"an attribute", "3", func(l snapshot.Page) bool { return l.Select.Disabled }},
		{"the shadow", "4", func(l snapshot.Page) bool { return strings.Contains(l.Text, "light") }},
		{"a modal dialog", "5", func(l snapshot.Page) bool { return l.Modal == "really?" }},
		{"a property of a control", "6", func(l snapshot.Page) bool { return l.Controls["i"].Value == "typed" }},
		{"a transition", "7", func(l snapshot.Page) bool { return !strings.Contains(l.Text, "other") }},
		{"the address", "8", func(l snapshot.Page) bool { return strings.HasSuffix(l.URL, "#h") }},
	}
	if l := u.presentPage(); !strings.Contains(l.Text, "shade") {
		t.Errorf("the shadow is not read: %q", l.Text)
	}
	for _, r := range rows {
		mark := u.acts(`{"do":"press","key":"` + r.key + `"}`)
		u.awaitSnapshot(mark, r.reason, r.match)
	}
	u.settles()
	last := ""
	for _, r := range u.log.All() {
		if r.Kind == transcript.Snapshot {
			if string(r.Bytes) == last {
				t.Errorf("look %d is as the one before", r.N)
			}
			last = string(r.Bytes)
		}
	}
}

// TestLookSeesEachTask: the state at the end of a task is recorded, even if the next task reverts it.
func TestLookSeesEachTask(t *testing.T) {
	site := serve(t, `<select id=s><option>A<option>B</select><script>document.getElementById('s').onchange=async(e)=>`+
		`{e.target.disabled=true;await fetch('/q');e.target.disabled=false}</script>`)
	seen := make(chan struct{}) // the browser decides whether the response precedes the reader's task
	site.handle["/q"] = func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-seen:
		case <-r.Context().Done():
		}
		w.WriteHeader(204)
	}
	u := openPage(t, shared, site.URL+"/", driver.Page{Select: "#s"})
	mark := u.acts(`{"do":"choose","on":"select","value":"B"}`)
	off := u.awaitSnapshot(mark, "a disabled select", func(l snapshot.Page) bool {
		return l.Select.Disabled &&
			l.Select.Value == "B"
	})
	close(seen)
	on := u.awaitSnapshot(off.N, "an enabled select", func(l snapshot.Page) bool { return !l.Select.Disabled })
	answer := u.awaitKind(mark, transcript.Answered, "finished")
	if on.N < off.N || answer.N < off.N {
		t.Errorf("the order is disabled %d, answered %d, enabled %d", off.N, answer.N, on.N)
	}
}

func TestBounds(t *testing.T) {
	u := openHTML(t, `<select id=s></select><div id=log></div><div id=text></div><script>
for(let i=0;i<300;i++)document.getElementById('s').add(new Option('o'+i));
for(let i=0;i<600;i++){const d=document.createElement('div');d.textContent='row'+i;`+
		`document.getElementById('log').append(d)}
document.getElementById('text').textContent='word `+
		`'.repeat(40000)</script>`, driver.Page{Select: "#s", Log: "#log", Chat: "#text"})
	l := u.presentPage()
	if len(l.Select.Options) != 200 || len(l.Log) != 500 || l.Cut != 100 || l.Log[499].Text != "row599" {
		t.Errorf("%d options, %d rows, cut %d", len(l.Select.Options), len(l.Log), l.Cut)
	}
	if n := len(l.Text); n < 60<<10 || n > 65<<10 {
		t.Errorf("text has %d bytes", n)
	}
	if n := len(l.Chat); n != 1 || len(l.Chat[0]) > 17<<10 {
		t.Errorf("chat has %d entries", n)
	}
	dom, err := u.c.DOM(u.ctx)
	if err != nil || strings.Contains(dom, "<script") || !strings.Contains(dom, "row599") || len(dom) > 257<<10 {
		t.Errorf("DOM has %d bytes, %v", len(dom), err)
	}
}

func TestLogTable(t *testing.T) {
	u := openHTML(t, `<table id=log><tr class=info><td>a<td>b</tr></table>`+
		`<ul id=l2><li>head<ul><li class="e error">x</li>`+
		`</ul></ul>`, driver.Page{Log: "#log"})
	if diff := cmp.Diff([]snapshot.Row{{Text: "a b", Levels: []string{"info"}}}, u.presentPage().Log); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	u = openHTML(t, `<ul id=l2><li>head<ul><li class="e error">x</li></ul></ul>`, driver.Page{Log: "#l2", LogRow: "li li"})
	if diff := cmp.Diff([]snapshot.Row{{Text: "x", Levels: []string{"e", "error"}}}, u.presentPage().Log); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

func TestShotAndLanguage(t *testing.T) {
	site := serve(t, "")
	site.handle["/"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<p>%s</p><p id=p></p><script>p.textContent=navigator.language+' '+navigator.languages[0]+' `+
			`'+innerWidth+'x'+innerHeight+' '+document.visibilityState</script>`, r.Header.Get("Accept-Language"))
	}
	u := openPage(t, shared, site.URL+"/", driver.Page{Language: "zh-CN"})
	if got := u.presentPage().Text; !strings.HasPrefix(got, "zh-CN") ||
		!strings.HasSuffix(got, "zh-CN zh-CN 1280x800 visible") {
		t.Errorf("the page says %q", got)
	}
	png, err := u.c.Shot(u.ctx)
	if err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("Shot is %.8q, %v", png, err)
	}
}
