package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"parley/simulator/console"
)

// TestPageWaiting: a step that waits is shown, with what it awaits, since when, at most how long, and the clauses that
// it decides; so are the steps behind it. Each can be cancelled, which ends it on the server, and the session goes on.
func TestPageWaiting(t *testing.T) {
	base := pageServer(t).URL
	at := openMutant(t, base, "agent-select", "silent-switches")
	for _, step := range usual[:3] {
		ask(t, "POST", at+"/steps", map[string]string{"text": step})
	}
	v := visit(t, base, "en-US")
	v.wait("document.querySelectorAll('.steprow').length === 3")
	v.wait("document.querySelector('#waiting').hidden")
	v.key("c")
	for _, step := range append(usual[3:], "client B is connected", "client C is connected") {
		v.types("#step", step)
		v.key("\r")
	}
	v.wait("document.querySelectorAll('.waitrow').length === 3")
	const row = "document.querySelector('.waitrow.running').innerText.replace(/\\s+/g, ' ')"
	v.wait("/\\d+ of 3600 s · awaits .* of A · answers message \\d+ · .*decides AC-078 AC-079 .* \\+\\d+/.test(" +
		row + ")")
	v.wait("document.querySelectorAll('.waitrow')[2].innerText.includes('queued')")
	v.shot("waiting")
	v.axe("waiting", "html")
	v.js("document.querySelectorAll('.waitrow button')[1].click()") // which is not sent yet
	v.wait("document.querySelectorAll('.waitrow').length === 2")
	v.js("document.querySelector('.waitrow.running button').click()")
	v.wait("document.querySelectorAll('.steprow').length === 5") // also the one behind it
	v.wait("document.querySelector('#waiting').hidden")
	steps := v.value("[...document.querySelectorAll('.steprow .steptext')].map((e) => e.innerText).join()")
	if strings.Contains(steps, "client B") || !strings.Contains(steps, "client C") {
		t.Errorf("the steps are %s", steps)
	}
	var s console.Session
	if err := json.Unmarshal(ask(t, "GET", at, nil), &s); err != nil || len(s.Pending) > 0 || s.State != "open" {
		t.Errorf("%v, the session has %+v", err, s)
	}
	if outcomes := string(ask(t, "GET", at+"/outcomes", nil)); strings.Contains(outcomes, "failed") {
		t.Errorf("what was cancelled is judged: %s", outcomes)
	}
}

// openMutant starts a test of a mutant.
func openMutant(t *testing.T, base, protocol, id string) (at string) {
	t.Helper()
	var s console.Session
	body := map[string]string{"kind": "test", "protocol": protocol, "target": id}
	if err := json.Unmarshal(ask(t, "POST", base+"/api/v1/sessions", body), &s); err != nil {
		t.Fatal(err)
	}
	return base + "/api/v1/sessions/" + s.ID
}

// TestPagePlaceholder: the empty field of a step shows a line that works now, and the arrow keys take it.
func TestPagePlaceholder(t *testing.T) {
	v := visit(t, pageServer(t).URL, "en-US")
	v.key("n")
	v.wait("document.activeElement.id === 'new-protocol'")
	v.js("document.querySelector('dialog form').requestSubmit()")
	last := ""
	for n := range 4 {
		v.wait("document.activeElement.id === 'step' && document.querySelector('#step').value === ''")
		v.wait("!['', 'A step', " + string(quoted(last)) + "].includes(document.querySelector('#step').placeholder)")
		last = v.value("document.querySelector('#step').placeholder")
		v.key(map[bool]string{true: kb.ArrowRight, false: kb.ArrowDown}[n%2 == 0])
		v.wait("document.querySelector('#step').value === " + string(quoted(last)))
		v.key("\r")
		const marks = `[...document.querySelectorAll('.steprow')].filter((e) => e.innerText.includes(%s))` +
			`.map((e) => e.querySelector('.stepmark').className).join()`
		mark := fmt.Sprintf(marks, quoted(last))
		v.wait(mark + " !== ''")
		if got := v.value(mark); got != "stepmark good" {
			t.Errorf("%s: %s", last, got)
		}
	}
}
