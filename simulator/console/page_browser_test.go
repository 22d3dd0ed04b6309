package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// begin starts a test of the first protocol by the keyboard alone, and connects client A.
func (v *visitor) begin() {
	v.key("n")
	v.wait("document.activeElement.id === 'new-protocol'")
	v.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('dialog form')?.requestSubmit(); 0"))
	v.wait("document.activeElement.id === 'step'")
	for i, step := range []string{"client A is connected", "client A has a session", `client A switches to "debugger"`,
		`client A is switched from "general" to "debugger"`} {
		v.do(chromedp.SendKeys("#step", step+"\n"))
		v.wait(fmt.Sprintf("document.querySelectorAll('.steprow').length === %d", i+1))
	}
}

// TestPageSession: a session is begun, its steps and messages are in the diagram, with their judgements.
func TestPageSession(t *testing.T) {
	v := visit(t, pageServer(t).URL, "en-US")
	v.shot("empty")
	v.begin()
	v.shot("diagram")
	v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#f-clause').focus(); 0`), chromedp.KeyEvent("AS-042"))
	v.wait("document.querySelectorAll('.row').length === 2")
	v.wait("[...document.querySelectorAll('.mark')].some((m) => m.textContent === '✓ AS-042')")
	v.do(chromedp.Click(".row:not(.steprow)"), chromedp.Click("#detail-clauses"))
	v.wait("document.querySelector('#right').innerText.includes('切换代理')")
	v.shot("clauses")
	v.do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('#filters button')][0].click(); 0`))
	v.wait("document.querySelectorAll('.row').length > 6")
	v.key("\x1b")
	v.do(chromedp.Click("#compose-form"))
	v.wait("document.querySelector('.formstate.warn')")
	v.do(chromedp.SendKeys(".fields label:nth-child(2) input", "plan"))
	v.wait("document.querySelector('.formstate.good')")
	v.shot("form")
	v.do(chromedp.Click("#compose-broken"))
	v.wait("document.querySelectorAll('#composer option').length > 6")
	v.shot("broken")
	v.axe("broken")
	v.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('#composer .main').click(); 0"))
	v.wait("[...document.querySelectorAll('.row')].some((r) => r.textContent.includes('{\"type\":\"swit'))")
}

// TestPageAxe: axe finds nothing in any language and colour.
func TestPageAxe(t *testing.T) {
	url := pageServer(t).URL
	for _, language := range []string{"en-US", "zh-CN"} {
		v := visit(t, url, language)
		if v.value("document.querySelectorAll('.row').length") == "0" &&
			v.value("document.querySelector('.sessions li') === null") == "true" {
			v.axe("empty " + language)
			v.begin()
		}
		v.wait("document.querySelectorAll('.steprow').length === 4")
		if got, want := v.value("document.querySelector('.left h2').textContent"), map[string]string{"en-US": "Sessions",
			"zh-CN": "会话"}[language]; got != want {
			t.Errorf("%s: %q", language, got)
		}
		v.key("m")
		v.do(chromedp.KeyEvent("\uE010")) // not a shortcut
		v.do(chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('.row')[2].click(); 0"))
		for _, theme := range []string{"light", "dark"} {
			v.do(chromedp.Evaluate[chromedp.Void](`(() => { const s = document.querySelector('#theme');
				s.value = '` + theme + `'; s.onchange(); return 0; })()`))
			for _, tab := range []string{"tree", "text", "bytes", "clauses", "schema"} {
				v.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('#detail-" + tab + "').click(); 0"))
				v.axe(language + " " + theme + " " + tab)
			}
			for _, tab := range []string{"raw", "form", "broken", "step"} {
				v.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('#compose-" + tab + "').click(); 0"))
				v.axe(language + " " + theme + " " + tab)
			}
			v.key("\x1b")
			for _, key := range []string{"?", "n"} {
				v.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur(); 0"))
				v.key(key)
				v.wait("document.querySelector('dialog[open]')")
				v.axe(language + " " + theme + " key " + key)
				v.shot(language + theme + "-" + map[string]string{"?": "keys", "n": "new"}[key])
				v.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('dialog').close(); 0"))
				v.wait("!document.querySelector('dialog')")
			}
			v.do(chromedp.EmulateViewport(800, 800))
			v.shot(language + theme + "-800")
			v.do(chromedp.EmulateViewport(1280, 800))
			v.shot(language + theme)
		}
	}
}

// pageFake is an API with one session whose records are given.
func pageFake(t testing.TB, records int, one func(n int) string) *httptest.Server {
	t.Helper()
	page := pageServer(t)
	mux := http.NewServeMux()
	look := `{"id":"1","kind":"test","protocol":"p","role":"server","as":"","driver":"ws","url":"","state":"open",` +
		`"parties":["A"],"connections":[{"party":"A","state":"open","since":0}],"records":0,"overflow":0,"minds":{},` +
		`"steps":[]}`
	mux.HandleFunc("GET /api/v1/sessions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "[%s]", look)
	})
	mux.HandleFunc("GET /api/v1/sessions/1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 1; n <= records; n++ {
			fmt.Fprintf(w, "id: %d\nevent: record\ndata: %s\n\n", n, one(n))
		}
		fmt.Fprintf(w, "event: state\ndata: %s\n\n", look)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.Handle("/", page.Config.Handler)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv
}

func pageRecord(n int, party, text string) string {
	b, _ := json.Marshal(map[string]any{"n": n, "at": n, "party": party, "dir": "received", "kind": "frame", "label": "",
		"type": "type" + fmt.Sprint(n%7), "text": text, "clauses": []string{}})
	return string(b)
}

// TestPageMany: of 100,000 records none is lost, and the document stays small; the last is found by a filter.
func TestPageMany(t *testing.T) {
	const many = 100_000
	v := visit(t, pageFake(t, many, func(n int) string {
		return pageRecord(n, "A", fmt.Sprintf(`{"number":"no %d!"}`,
			n))
	}).URL, "en-US")
	v.wait("document.querySelector('#counts').textContent === '100000 of 100000 records'")
	v.wait("[...document.querySelectorAll('.when i')].some((e) => e.textContent === '100000')")
	v.shot("many")
	for _, at := range []string{"0", "1e6", "1e9"} {
		v.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('#diagram').scrollTop = " + at + "; 0"))
		const few = "document.querySelectorAll('.row').length < 60 && document.querySelectorAll('*').length < 1200"
		if v.value(few) != "true" {
			t.Errorf("at %s the document has %s elements", at, v.value("document.querySelectorAll('*').length"))
		}
	}
	v.do(chromedp.Evaluate[chromedp.Void](
		`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true})); 0`))
	v.wait("document.activeElement.id === 'f-text'")
	v.key("no 77777!")
	v.wait("document.querySelector('#counts').textContent === '1 of 100000 records'")
	v.key("\x1b")
	v.wait("document.activeElement.id === 'messages'")
	v.key("j")
	v.wait("document.querySelector('#right').innerText.includes('no 77777!')")
}

// TestPageHostile: what comes from the wire is text, and its control and bidi characters are seen.
func TestPageHostile(t *testing.T) {
	const evil = `<img src=x onerror="window.evil=1"><script>window.evil=1</script>`
	v := visit(t, pageFake(t, 3, func(n int) string {
		return pageRecord(n, evil+"\u202e", `{"__proto__":{"a":1},"`+evil[:4]+`":"\u202e\u0007`+"\u2066"+`"}`)
	}).URL, "en-US")
	v.wait("document.querySelectorAll('.row').length === 3")
	v.do(chromedp.Click(".row"))
	v.wait("document.querySelector('#right').innerText.includes('\\\\u202e\\\\u0007\\\\u2066')")
	v.shot("hostile")
	if got := v.value("[window.evil === undefined, document.querySelectorAll('img').length, " +
		"/[\\u202e\\u2066\\u0007]/.test(document.body.innerText)].join()"); got != "true,0,false" {
		t.Errorf("the page has %s", got)
	}
}
