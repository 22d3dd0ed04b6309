package browser

import (
	"strings"
	"testing"

	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
)

// framePage is actPage in a frame of the same origin that lies somewhere on the page, with a log of its own.
const framePage = `<h1>Outside</h1><p id=out></p><div style="height:900px"></div>
<iframe id=f style="width:600px;height:300px;margin-left:40px;border:7px solid"></iframe>
<iframe sandbox srcdoc="elsewhere"></iframe>
<script>const inner=document.getElementById('f').contentDocument;
inner.body.innerHTML='<button id=b>Go</button><input id=i value=old>` +
	`<select id=s><option value=g>General<option value=d>Debugger</select>` +
	`<div style="height:900px"></div><button id=far>Far</button>'+
'<ol id=log><li data-level=info>one<li data-level=error>two</ol>';
const $=(s)=>inner.querySelector(s);const say=(s)=>{document.getElementById('out').textContent+=s+';'};
for(const e of inner.querySelectorAll('button'))e.onclick=(v)=>say(e.textContent+' '+v.isTrusted);
$('#i').oninput=(e)=>say('i '+e.target.value);$('#s').onchange=(e)=>say('change '+e.target.value);
addEventListener('keydown',(e)=>{if(e.key==='1')$('#log').insertAdjacentHTML('beforeend','<li>three')})</script>`

// TestFrames: what is in a frame of the page's origin is seen and used as the rest of the page.
func TestFrames(t *testing.T) {
	hooks := driver.Page{Select: "#s", Log: "#log",
		Controls: map[string]string{"go": "text=Go", "far": "#far", "message": "#i"}}
	t.Run("seen", func(t *testing.T) {
		u := openHTML(t, framePage, hooks)
		l := u.presentPage()
		if !strings.HasPrefix(l.Text, "Outside ") || !strings.Contains(l.Text, "Go") ||
			strings.Contains(l.Text, "elsewhere") {
			t.Errorf("the text is %q", l.Text)
		}
		if len(l.Select.Options) != 2 || !l.Select.Visible || l.Select.Rect.Top < 900 || l.Select.Rect.Left < 40 {
			t.Errorf("the select is %+v", l.Select)
		}
		if len(l.Log) != 2 || l.Log[1].Text != "two" || len(l.Log[1].Levels) != 1 {
			t.Errorf("the log is %+v", l.Log)
		}
		mark := u.acts(`{"do":"press","key":"1"}`)
		u.awaitSnapshot(mark, "a new row", func(l snapshot.Page) bool { return len(l.Log) == 3 })
	})
	t.Run("hidden", func(t *testing.T) {
		u := openHTML(t, `<p>Outside</p><iframe id=f hidden></iframe><script>document.getElementById('f')`+
			`.contentDocument.body.innerHTML='<button id=b>Go</button>'</script>`, hooks)
		if l := u.presentPage(); strings.Contains(l.Text, "Go") || l.Controls["go"].Visible || !l.Controls["go"].Found {
			t.Errorf("the text is %q, the button %+v", l.Text, l.Controls["go"])
		}
	})
	for _, r := range []struct{ reason, do, want string }{
		{"a click", `{"do":"click","on":"go"}`, "Go true;"},
		{"one that has to be scrolled to", `{"do":"click","on":"far"}`, "Far true;"},
		{"a choice", `{"do":"choose","on":"select","value":"d"}`, "change d;"},
		{"typing replaces the previous text", `{"do":"type","on":"message","text":"hi"}`, "i hi;"},
		{"typing nothing clears", `{"do":"type","on":"message","text":""}`, "i ;"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			u := openHTML(t, framePage, hooks)
			u.acts(r.do)
			if got := u.textsAtPage(); got != r.want {
				t.Errorf("the page says %q, want %q", got, r.want)
			}
		})
	}
}
