package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/internal/tier"
	"parley/simulator/console"
)

// usual are the steps of most tests.
var usual = []string{"client A is connected", "client A has a session", `client A switches to "debugger"`,
	`client A is switched from "general" to "debugger"`}

// begin starts a test of the first protocol by the keyboard alone, and connects client A.
func (v *visitor) begin() {
	v.key("n")
	v.wait("document.activeElement.id === 'new-protocol'")
	v.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('dialog form')?.requestSubmit(); 0"))
	v.wait("document.activeElement.id === 'step'")
	for i, step := range usual {
		v.types("#step", step)
		v.key("\r")
		v.wait(fmt.Sprintf("document.querySelectorAll('.steprow').length === %d", i+1))
	}
}

// TestPageSession: a session is begun, and its steps and messages are in the diagram, with their judgements.
func TestPageSession(t *testing.T) {
	v := visit(t, pageServer(t).URL, "en-US")
	v.shot("empty")
	v.begin()
	v.shot("diagram")
	v.types("#f-text", "clause:AS-042")
	v.wait("document.querySelectorAll('.row').length === 2")
	v.wait("[...document.querySelectorAll('.mark')].some((m) => m.textContent === '✓ AS-042')")
	v.do(chromedp.Click(".row:not(.steprow)"), chromedp.Click("#detail-clauses"))
	v.wait("document.querySelector('#right').innerText.includes('切换代理')")
	v.shot("clauses")
	v.click("#filters [data-id=clear]")
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
	v.axe("broken", "html")
	v.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('#composer .main').click(); 0"))
	v.wait("[...document.querySelectorAll('.row')].some((r) => r.textContent.includes('{\"type\":\"swit'))")
}

// openTest starts a test and executes the same steps through the API.
func openTest(t testing.TB, base string) (at string) {
	t.Helper()
	var s console.Session
	body := map[string]string{"kind": "test", "protocol": "agent-select", "driver": "ws"}
	if err := json.Unmarshal(ask(t, "POST", base+"/api/v1/sessions", body), &s); err != nil {
		t.Fatal(err)
	}
	for _, step := range usual {
		ask(t, "POST", base+"/api/v1/sessions/"+s.ID+"/steps", map[string]string{"text": step})
	}
	return base + "/api/v1/sessions/" + s.ID
}

// TestPageAxe: axe finds nothing in any language and colour.
func TestPageAxe(t *testing.T) {
	tier.Night(t)
	base := pageServer(t).URL
	visit(t, base, "en-US").axe("empty", "html")
	openTest(t, base)
	for _, language := range []string{"en-US", "zh-CN"} {
		v := visit(t, base, language)
		v.wait("document.querySelectorAll('.steprow').length === 4")
		if got, want := v.value("document.querySelector('#left h2').textContent"), map[string]string{"en-US": "Sessions",
			"zh-CN": "会话"}[language]; got != want {
			t.Errorf("%s: %q", language, got)
		}
		v.key("m")
		v.js("document.querySelectorAll('.row')[2].click()")
		for _, theme := range []string{"light", "dark"} {
			v.types("#theme", theme)
			v.everywhere(language, theme)
			v.do(chromedp.EmulateViewport(1280, 800))
			v.shot(language + theme)
		}
	}
}

// everywhere visits each tab and each dialog. Colours are the same in all languages, and everything else is the same in
// all colour schemes.
func (v *visitor) everywhere(language, theme string) {
	v.t.Helper()
	var rules []string
	if theme == "dark" {
		rules = []string{"color-contrast"}
	}
	v.axe(language+" "+theme, "html", rules...)
	if language == "zh-CN" && theme == "dark" {
		return
	}
	for _, tab := range []string{"text", "bytes", "clauses", "schema"} {
		v.click("#detail-" + tab)
		v.axe(language+" "+theme+" "+tab, "#right", rules...)
	}
	for _, tab := range []string{"raw", "form", "broken"} {
		v.click("#compose-" + tab)
		v.axe(language+" "+theme+" "+tab, "#composer", rules...)
	}
	for _, key := range []string{"?", "n"} {
		v.js("document.activeElement.blur()")
		v.key(key)
		v.wait("document.querySelector('dialog[open]')")
		v.axe(language+" "+theme+" key "+key, "dialog", rules...)
		v.shot(language + theme + "-" + map[string]string{"?": "keys", "n": "new"}[key])
		v.js("document.querySelector('dialog').close()")
		v.wait("!document.querySelector('dialog')")
	}
}

// pageFake is an API with one session that has the given records, and connections: A if none are given.
func pageFake(t testing.TB, records int, one func(n int) string, connections ...console.Connection) *httptest.Server {
	t.Helper()
	page := pageServer(t)
	mux := http.NewServeMux()
	if len(connections) == 0 {
		connections = []console.Connection{{Party: "A", State: "open"}}
	}
	shown, err := json.Marshal(console.Session{ID: "1", Kind: "test", Protocol: "p", Role: "server", Driver: "ws",
		State: "open", Parties: []string{"A"}, Connections: connections, Minds: map[string]string{}, Steps: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	look := string(shown)
	mux.HandleFunc("GET /api/v1/sessions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "[%s]", look)
	})
	mux.HandleFunc("GET /api/v1/sessions/1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		after, _ := strconv.Atoi(r.FormValue("after"))
		for n := after + 1; n <= records; n++ {
			fmt.Fprintf(w, "id: %d\nevent: record\ndata: %s\n\n", n, one(n))
		}
		fmt.Fprintf(w, "event: state\ndata: %s\n\n", look)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /api/v1/sessions/1/records", func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.Atoi(r.FormValue("after"))
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		var all []string
		for n := after + 1; n <= min(records, after+limit, after+1000); n++ {
			all = append(all, one(n))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "[%s]", strings.Join(all, ","))
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

// TestPageMany: of 120,000 records the page keeps at most 100,000, and a small document; the others stay on the server,
// and are loaded in turn while the newest are dropped; back at the newest, none is missing.
func TestPageMany(t *testing.T) {
	tier.Night(t)
	const many = 120_000
	v := visit(t, pageFake(t, many, func(n int) string {
		return pageRecord(n, "A", fmt.Sprintf(`{"number":"no %d!"}`,
			n))
	}).URL, "en-US")
	v.wait("[...document.querySelectorAll('.when i')].some((e) => e.textContent === '120000')")
	of := func() (n int) {
		_, _ = fmt.Sscanf(v.value("document.querySelector('#counts').textContent.match(/of (.*) records/)[1]"), "%d", &n)
		return n
	}
	kept := of()
	if kept > 100_000 || kept < 80_000 {
		t.Errorf("the page keeps %d records", kept)
	}
	var gone int
	outside := v.value("document.querySelector('#outside span').textContent")
	if _, _ = fmt.Sscanf(outside, "Records 1 to %d", &gone); gone+kept != many {
		t.Errorf("%q, and %d are there", outside, kept)
	}
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
	v.wait(fmt.Sprintf("document.querySelector('#counts').textContent === '1 of %d records'", kept))
	v.key("\x1b")
	v.wait("document.activeElement.id === 'messages'")
	v.key("j")
	v.wait("document.querySelector('#right').innerText.includes('no 77777!')")
	v.click("#filters [data-id=clear]")
	v.brings(gone, many)
	if got := of(); got > 100_000 {
		t.Errorf("with older ones the page keeps %d records", got)
	}
}

// brings loads older records until none is left, and goes back to the newest.
func (v *visitor) brings(gone, many int) {
	v.t.Helper()
	for rounds := 0; v.value("document.querySelector('#outside').innerText.includes('Records 1 to')") == "true"; rounds++ {
		before := v.value("document.querySelector('#outside').innerText")
		v.click("#outside button")
		v.wait(fmt.Sprintf("document.querySelector('#outside').innerText !== %q", before))
		if rounds > gone/1000 {
			v.t.Fatalf("it does not end: %s", before)
		}
	}
	v.js("document.querySelector('#diagram').scrollTop = 0")
	v.wait("[...document.querySelectorAll('.when i')].some((e) => e.textContent === '1')")
	v.wait("document.querySelector('#outside').innerText.includes('are not shown')")
	v.shot("older")
	v.click("#outside button:last-child")
	v.wait(fmt.Sprintf("[...document.querySelectorAll('.when i')].some((e) => e.textContent === '%d')", many))
	v.wait("!document.querySelector('#outside').innerText.includes('are not shown')")
}

// TestPageHostile: content from the wire is shown as text, with visible control and bidi characters.
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
