package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/simulator/console"
)

// mixed makes records of many connections: pings, switches that are answered 250 ms later, and comments.
func mixed(n int) string {
	r := map[string]any{"n": n, "at": n * 100, "party": fmt.Sprintf("C%d", n%30+1), "dir": "received", "kind": "frame",
		"label": "", "type": "ping", "text": `{"type":"ping"}`, "clauses": []string{}}
	switch n % 4 {
	case 1:
		r["type"], r["dir"] = "switch_agent", "sent"
		r["text"] = fmt.Sprintf(`{"type":"switch_agent","agentId":"debugger","sessionId":"sess_%d","requestId":"q%d"}`, n, n)
	case 2:
		r["type"], r["party"], r["at"] = "agent_switched", fmt.Sprintf("C%d", (n-1)%30+1), (n-1)*100+250
		r["text"] = fmt.Sprintf(`{"type":"agent_switched","data":{"requestId":"q%d","note":%q}}`, n-1,
			strings.Repeat("x", n%500))
		if n == 6 {
			r["was"] = "{}"
		}
		if n%3 == 0 {
			r["clauses"] = []string{"AS-042", "AS-043"}
		}
	case 3:
		r["type"], r["kind"], r["label"], r["text"] = "", "comment", "comment", "keep-alive"
	}
	b, _ := json.Marshal(r)
	return string(b)
}

// ready begins a condition that also waits for the page to be loaded again.
const ready = "document.documentElement.dataset.ready === 'true' && "

// shows is the number of rows that the filter shows.
func (v *visitor) shows() string {
	return v.value("document.querySelector('#counts').textContent.split(' ')[0]")
}

// TestPageFilter: terms of all keys find their messages, and each mistake gets one message while the rows stay.
func TestPageFilter(t *testing.T) {
	v := visit(t, pageFake(t, 120, mixed).URL, "en-US")
	v.wait("document.querySelector('#counts').textContent === '120 of 120 records'")
	for _, one := range []struct{ filter, shows, mistake string }{
		{"type:ping", "30", ""},
		{"-type:ping", "90", ""},
		{"type:ping,switch_agent", "60", ""},
		{"type:ping|agent_*", "60", ""},
		{`type:"agent_switched" verdict:failed`, "10", ""},
		{"type：ping，switch_agent", "60", ""},
		{"clause:AS-043", "10", ""},
		{"clause:as-04*", "10", ""},
		{"verdict:none type:agent_switched", "20", ""},
		{"from:server", "90", ""},
		{`to:"client C2"`, "4", ""},
		{"from:C2", "2", ""},
		{"party:C2", "6", ""},
		{"to:server session:sess_9", "3", ""},
		{".agentId:debug*", "30", ""},
		{".agentId:debug", "0", ""},
		{"kind:comment", "30", ""},
		{"-is:heartbeat", "60", ""},
		{"is:message -type:ping", "60", ""},
		{"is:edited", "1", ""},
		{"dir:sent", "30", ""},
		{"n:10..19", "10", ""},
		{"at:>11s", "11", ""},
		{"latency:>=250ms", "30", ""},
		{"size:>100", "20", ""},
		{"Q21", "2", ""},
		{`"q21\"}"`, "1", ""},
		{`{"type":"ping"}`, "30", ""},
		{`"q1\""`, "2", ""},
		{"", "120", ""},
		{"typ:ping", "120", "“typ” is not a key of the filter; did you mean type:?"},
		{"http://example", "120", "“http” is not a key of the filter; to search for it as text, put it in quotes"},
		{"n:1 type:", "120", "type: needs a value, such as type:agent_*"},
		{"verdict:bad", "120", "verdict: cannot be “bad”; it is one of failed, passed, warned, none"},
		{"size:big", "120", "size: “big” is not a number; write it like size:>1k"},
		{`text:"open`, "120", "A quote is not closed"},
		{`"a"b`, "120", "There must be a space after a closing quote"},
	} {
		v.types("#f-text", one.filter)
		if got := v.shows(); got != one.shows {
			t.Errorf("%s shows %s, want %s", one.filter, got, one.shows)
		}
		if got := v.value("document.querySelector('#f-mistake').textContent"); got != one.mistake {
			t.Errorf("%s: %q, want %q", one.filter, got, one.mistake)
		}
	}
	v.axe("mistake", "#filters")
	v.shot("mistake")
	v.types("#f-text", "nowhere")
	v.click(".empty button")
	v.wait("document.querySelector('#counts').textContent === '120 of 120 records'")
}

// TestPageFilterKept: a filter is in the address, so that a reload and a copied link show the same; going back leaves
// it. Judgements that come later are found.
func TestPageFilterKept(t *testing.T) {
	base := pageServer(t).URL
	at := openMutant(t, base, "agent-select", "previous-is-current")
	for _, step := range usual[:3] {
		ask(t, "POST", at+"/steps", map[string]string{"text": step})
	}
	v := visit(t, base+"/#1?filter=type%3Aagent_switched%20-type:ping", "en-US")
	v.wait("document.querySelector('#counts').textContent.startsWith('1 of ')")
	v.types("#f-text", "verdict:failed")
	v.wait("location.hash === '#1?filter=verdict%3Afailed' && document.querySelector('.empty strong')")
	v.do(chromedp.Reload())
	v.wait(ready + "document.querySelector('#f-text').value === 'verdict:failed'")
	ask(t, "POST", at+"/steps", map[string]string{"text": usual[3]})
	v.wait("document.querySelectorAll('.row').length > 0")
	v.js("location.hash = '#1?filter=type:agent_switched'")
	v.wait("document.querySelector('#f-text').value === 'type:agent_switched'")
	v.wait("document.querySelectorAll('.row').length === 1")
	v.click("#filters [data-id=clear]")
	v.wait("location.hash === '#1'")
	v.do(chromedp.Navigate("about:blank"), chromedp.Navigate(base+"/#%?filter=%"))
	v.wait(ready + "document.querySelectorAll('.row').length > 3")
}

// TestPageFilterKeys: keys and values that occur are suggested and taken with the keyboard alone; the switch of the
// heartbeats is a term.
func TestPageFilterKeys(t *testing.T) {
	v := visit(t, pageFake(t, 120, mixed).URL, "en-US")
	v.wait("document.querySelector('#counts').textContent === '120 of 120 records'")
	v.js("document.activeElement.blur()")
	v.js(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true}))`)
	v.wait("document.activeElement.id === 'f-text' && !document.querySelector('#f-suggest').hidden")
	v.shot("keys")
	v.axe("suggestions", "#filters")
	v.key("ty")
	v.key(kb.ArrowDown)
	v.key("\r")
	v.wait("document.querySelector('#f-text').value === 'type:'")
	v.wait("[...document.querySelectorAll('#f-suggest b')].some((e) => e.textContent === 'type:agent_switched')")
	v.shot("values")
	v.key("agent")
	v.key(kb.ArrowDown)
	v.key("\r")
	v.wait("document.querySelector('#f-text').value === 'type:agent_switched '")
	v.key("from:ser")
	v.wait("document.querySelector('#f-suggest b').textContent === 'from:server'")
	v.key("\x1b")
	v.wait("document.querySelector('#f-suggest').hidden && document.activeElement.id === 'f-text'")
	v.key("\x1b")
	v.wait("document.activeElement.id === 'messages'")
	v.click("#filters [data-id=clear]")
	v.click("#filters [data-id=hideHeartbeats]")
	v.wait("document.querySelector('#f-text').value === '-is:heartbeat'")
	v.wait("document.querySelector('#filters [data-id=hideHeartbeats]').getAttribute('aria-pressed') === 'true'")
	v.click("#filters [data-id=hideHeartbeats]")
	v.wait("document.querySelector('#f-text').value === ''")
	v.js("document.querySelector('#messages').focus()")
	for key, becomes := range map[string]string{"h": "document.querySelector('#f-text').value === '-is:heartbeat'",
		"v": "document.querySelector('#diagram').dataset.view === 'list'"} {
		v.key(key)
		v.wait(becomes)
	}
}

// many are connections of which the given ones are closed.
func many(n int, closed func(i int) bool) (out []console.Connection) {
	for i := range n {
		state := "open"
		if closed(i + 1) {
			state = "closed"
		}
		out = append(out, console.Connection{Party: fmt.Sprintf("C%d", i+1), State: state})
	}
	return out
}
