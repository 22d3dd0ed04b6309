package browser

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

const actPage = `<style>#cover{position:fixed;inset:0;background:#eee}[hidden]{display:none!important}</style>
<button id=b>Go</button><button id=off disabled>Off</button><button id=gone hidden>Gone</button>` +
	`<input id=i value=old><input id=ro readonly value=fix>
<select id=s><option value=g>General<option value=d>Debugger<option value=x disabled>Broken</select>
<ul><li data-session-id=sess_1>One</li><li data-session-id=sess_2>Two</li><li><b title=sess_3>Three</b></li></ul>
<div style="height:3000px"></div><button id=far>Far</button><p id=out></p><div id=cover hidden><button id=x>` +
	`Close</button></div>
<script>const $=(s)=>document.querySelector(s);const say=(s)=>{$('#out').textContent+=s+';'};
$('#b').onclick=(e)=>say('b '+e.isTrusted);$('#far').onclick=(e)=>say('far '+e.isTrusted);
$('#i').oninput=(e)=>say('i '+e.target.value+' '+e.isTrusted);$('#i').onkeydown=(e)=>say('key '+e.key+' '+e.code);
$('#i').onfocus=()=>say('focus');$('#s').oninput=()=>say('input');$('#s').addEventListener('focus',()=>say('sfocus'));
document.addEventListener('change',(e)=>{if(e.target===$('#s'))say('change '+e.target.value)});
for(const l of document.querySelectorAll('li'))l.onclick=()=>say(l.textContent);
$('#x').onclick=()=>{$('#cover').hidden=true;say('x')};
</script>`

var actHooks = driver.Page{Select: "#s", Dismiss: "#x",
	Controls: map[string]string{"go": "text=Go", "off": "#off", "gone": "#gone", "message": "#i",
		"fixed": "#ro", "session": "li", "far": "#far", "missing": "#nowhere", "bad": "###", "empty": ""}}

func TestActs(t *testing.T) {
	rows := []struct {
		reason string
		do     []string
		want   string
	}{
		{"a click with the mouse", []string{`{"do":"click","on":"go"}`}, "b true;"},
		{"one that has to be scrolled to", []string{`{"do":"click","on":"far"}`}, "far true;"},
		{"by text", []string{`{"do":"click","on":"session","text":"Two"}`}, "Two;"},
		{"by an attribute", []string{`{"do":"click","on":"session","text":"sess_1"}`}, "One;"},
		{"by an attribute of a descendant", []string{`{"do":"click","on":"session","text":"sess_3"}`}, "Three;"},
		{"a choice by value", []string{`{"do":"choose","on":"select","value":"d"}`}, "sfocus;input;change d;"},
		{"a choice by text", []string{`{"do":"choose","on":"select","value":"Debugger"}`}, "sfocus;input;change d;"},
		{"the choice that is made already", []string{`{"do":"choose","on":"select","value":"g"}`}, "sfocus;"},
		{"typing replaces the previous text", []string{`{"do":"type","on":"message","text":"hi 你好"}`}, "focus;i hi 你好 true;"},
		{"typing nothing clears", []string{`{"do":"type","on":"message","text":""}`}, "focus;i true;"},
		{"a key where the focus is", []string{`{"do":"type","on":"message","text":"a"}`, `{"do":"press","key":"Enter"}`},
			"focus;i a true;key Enter Enter;"},
		{"a key somewhere", []string{`{"do":"press","on":"message","key":"ArrowLeft"}`}, "focus;key ArrowLeft ArrowLeft;"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			u := openHTML(t, actPage, actHooks)
			for _, body := range r.do {
				n := u.acts(body)
				if rec := u.log.All()[n-1]; rec.Kind != transcript.Act || rec.Dir != transcript.Sent || string(rec.Bytes) != body ||
					rec.Label == "" {
					t.Errorf("recorded is %s", rec.Line(200))
				}
			}
			if got := u.textsAtPage(); got != r.want {
				t.Errorf("the page says %q, want %q", got, r.want)
			}
		})
	}
}

// textsAtPage returns what a page of actPage has received.
func (u *tester) textsAtPage() string {
	u.Helper()
	var s string
	if err := u.c.evaluateRetrying(u.ctx, "document.getElementById('out').textContent.replaceAll('  ',' ')",
		&s); err != nil {
		u.Fatal(err)
	}
	return s
}

func TestActErrors(t *testing.T) {
	rows := []struct{ body, want string }{
		{`{"do":"click","on":"missing"}`, "click missing: there is no missing on the page"},
		{`{"do":"click","on":"bad"}`, "click bad: there is no bad on the page"},
		{`{"do":"click","on":"empty"}`, "click empty: its place on the page is unknown"},
		{`{"do":"click","on":"other"}`, "click other: its place on the page is unknown"},
		{`{"do":"click","on":"gone"}`, "click gone: the gone is not visible"},
		{`{"do":"click","on":"off"}`, "click off: the off is disabled"},
		{`{"do":"click","on":"session","text":"Nine"}`, "click session: there is no session on the page"},
		{`{"do":"choose","on":"select","value":"zz"}`, `choose select: there is no option "zz" in the select`},
		{`{"do":"choose","on":"select","value":"x"}`, `choose select: the option "x" of the select is disabled`},
		{`{"do":"choose","on":"message","value":"x"}`, "choose message: the message is no <select> but a <input>"},
		{`{"do":"type","on":"go","text":"x"}`, "type go: nothing can be typed into the go, a <button>"},
		{`{"do":"type","on":"fixed","text":"x"}`, "type fixed: the fixed can only be read"},
		{`{"do":"press","key":"NoSuchKey"}`, `press: there is no key "NoSuchKey"`},
	}
	u := openHTML(t, actPage, actHooks)
	for _, r := range rows {
		n, err := u.c.Send(u.ctx, driver.Message{Label: "an act", Body: []byte(r.body)})
		var no *ActError
		if !errors.As(err, &no) || err.Error() != r.want {
			t.Errorf("%s: %v, want %s", r.body, err, r.want)
			continue
		}
		if rec := u.log.All()[n-1]; rec.Label != "an act" {
			t.Errorf("recorded is %s", rec.Line(200))
		}
		if f := u.awaitKind(n, transcript.Failure, ""); f.Label != r.want || f.Reply != n {
			t.Errorf("the failure is %s", f.Line(200))
		}
	}
	for _, body := range []string{"", "{", `{"do":"dance"}`, `{"do":"click","in":"x"}`} {
		before := u.count(transcript.Act, "")
		if n, err := u.c.Send(u.ctx, driver.Message{Body: []byte(body)}); err == nil || n != 0 ||
			u.count(transcript.Act, "") != before {
			t.Errorf("%q is an act: %d, %v", body, n, err)
		}
	}
}

func TestCovered(t *testing.T) {
	cover := strings.Replace(actPage, "id=cover hidden", "id=cover", 1)
	u := openHTML(t, cover, actHooks)
	u.acts(`{"do":"click","on":"go"}`)
	if diff := cmp.Diff("x;b true;", u.textsAtPage()); diff != "" {
		t.Errorf("with a way to dismiss it, want(-) got(+):\n%s", diff)
	}
	hooks := actHooks
	hooks.Dismiss = ""
	u = openHTML(t, cover, hooks)
	u.acts(`{"do":"click","on":"go"}`)
	if diff := cmp.Diff("b false;", u.textsAtPage()); diff != "" {
		t.Errorf("without, want(-) got(+):\n%s", diff)
	}
}

// TestTorn: a page that redraws an element before the mouse button is released swallows the click.
func TestTorn(t *testing.T) {
	const page = `<div id=app></div><p id=out></p><script>const app=document.getElementById('app');let drawn=0;
const draw=()=>{app.innerHTML='<div><button id=b><b>Go</b></button></div>'};draw();
document.addEventListener('mousedown',()=>{if(drawn++<TIMES)draw()});
app.onclick=(e)=>{if(e.target.closest('button'))
document.getElementById('out').textContent+='b '+e.isTrusted+';'}</script>`
	for _, r := range []struct {
		reason, times string
		said          string
		acts          int
	}{
		{"never", "0", "b true;", 1},
		{"once, as by chance", "1", "b true;", 2},
		{"with each press", "99", "", clicks},
	} {
		t.Run(r.reason, func(t *testing.T) {
			u := openHTML(t, strings.Replace(page, "TIMES", r.times, 1), driver.Page{Controls: map[string]string{"go": "#b"}})
			u.acts(`{"do":"click","on":"go"}`)
			if got := u.textsAtPage(); got != r.said {
				t.Errorf("the page says %q, want %q", got, r.said)
			}
			if n := u.count(transcript.Act, ""); n != r.acts {
				t.Errorf("%d acts, want %d", n, r.acts)
			}
		})
	}
}

// TestMoved: an element that the page moves is located before the click is aimed, not after.
func TestMoved(t *testing.T) {
	u := openHTML(t, `<div id=note></div><select id=s><option value=g>G<option value=d>D</select><button id=b>Go</button>`+
		`<p id=out></p>
<script>const $=(s)=>document.querySelector(s);$('#b').onclick=()=>{$('#out').textContent+='b;'};
const shift=()=>{$('#note').style.height=(parseInt($('#note').style.height||0)+100)%300+'px'};
$('#s').onchange=()=>{requestAnimationFrame(shift);setTimeout(()=>{for(const t=Date.now()+20;Date.now()<t;);`+
		`},1)}</script>`,
		driver.Page{Select: "#s", Controls: map[string]string{"go": "#b"}})
	for range 5 {
		u.acts(`{"do":"choose","on":"select","value":"d"}`)
		u.acts(`{"do":"click","on":"go"}`)
		u.acts(`{"do":"choose","on":"select","value":"g"}`)
	}
	if got := u.textsAtPage(); got != "b;b;b;b;b;" {
		t.Errorf("the page says %q", got)
	}
}

func TestDialogs(t *testing.T) {
	u := openHTML(t, `<button id=b>Go</button><p id=out></p>`+
		`<script>document.getElementById('b').onclick=()=>{alert('a\nb');
const c=confirm('sure?');const p=prompt('name?','me');document.getElementById('out').textContent=c+' '+p}`+
		`</script>`, driver.Page{Controls: map[string]string{"go": "#b"}})
	n := u.acts(`{"do":"click","on":"go"}`)
	u.settles()
	var got []string
	for _, r := range u.log.After(n) {
		if r.Kind == transcript.Dialog {
			got = append(got, r.Type+" "+string(r.Bytes))
		}
	}
	if diff := cmp.Diff([]string{"alert a\nb", "confirm sure?", "prompt name?"}, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if got := u.presentPage().Text; !strings.Contains(got, "true me") {
		t.Errorf("the page shows %q", got)
	}
}

// TestDialogWhileLoading: nothing waits for a dialog, not even Open.
func TestDialogWhileLoading(t *testing.T) {
	u := openHTML(t, `<script>alert('early')</script><p>done</p>`, driver.Page{})
	if n := u.count(transcript.Dialog, "alert"); n != 1 || u.presentPage().Text != "done" {
		t.Errorf("%d dialogs; there is:\n%s", n, u.recordLines())
	}
}

func TestReloadAndOpen(t *testing.T) {
	site := serve(t, `<p>first</p><a id=a href="/two">on</a>`)
	site.pages["/two"] = "<p>second</p>"
	u := openPage(t, shared, site.URL+"/", driver.Page{Controls: map[string]string{"on": "#a", "go": "#go"}})
	n := u.acts(`{"do":"reload"}`)
	if r := u.awaitKind(n, transcript.Open, "page"); r.Reply != n || r.Status != 200 {
		t.Errorf("after a reload: %s", r.Line(200))
	}
	n = u.acts(`{"do":"click","on":"on"}`)
	u.awaitSnapshot(n, "the second page", func(l snapshot.Page) bool { return l.Text == "second" })
	n = u.acts(`{"do":"open","url":"` + site.URL + `/"}`)
	u.settles()
	if l := u.presentPage(); !strings.HasPrefix(l.Text, "first") || u.awaitKind(n, transcript.Open, "page").Reply != n {
		t.Errorf("after an open: %q", l.Text)
	}
	n = u.acts(`{"do":"open","url":"http://127.0.0.1:1/"}`)
	if r := u.awaitKind(n, transcript.Failure, ""); r.Reply != n || !strings.Contains(r.Label, "ERR_") {
		t.Errorf("a page that is not there: %s", r.Line(200))
	}
	u.settles()
	if got := u.count(transcript.Failure, ""); got != 1 {
		t.Errorf("%d failures:\n%s", got, u.recordLines())
	}
}

// TestActNeverWaitsForTheNetwork: a missing response does not block acts.
func TestActNeverWaitsForTheNetwork(t *testing.T) {
	site := serve(t, `<button id=b onclick="fetch('/never').then(()=>alert('answered'))">Go</button><a id=a href=/never>`+
		`on</a>`)
	let := make(chan struct{})
	site.handle["/never"] = func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-let:
		case <-r.Context().Done():
		}
	}
	u := openPage(t, shared, site.URL+"/", driver.Page{Controls: map[string]string{"go": "#b", "on": "#a"}})
	n := u.acts(`{"do":"click","on":"go"}`)
	u.settles()
	if u.count(transcript.Dialog, "") != 0 {
		t.Error("it was answered")
	}
	u.awaitKind(n, transcript.Ask, "GET "+site.URL+"/never")
	close(let)
	u.awaitKind(n, transcript.Dialog, "alert")
}
