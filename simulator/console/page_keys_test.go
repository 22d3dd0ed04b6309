package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// press presses a key as an act. Unlike key, it types no character into the field that the act gives the focus to.
func (v *visitor) press(key string) {
	v.t.Helper()
	v.js(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown",
		{ key: %q, bubbles: true, cancelable: true }))`, key)
}

// TestPageByKeysAlone: a person without a mouse starts a test, executes steps, cancels one that waits, finds out why
// one failed, saves and ends; and starts a play, has messages held and sends them on.
func TestPageByKeysAlone(t *testing.T) {
	base := pageServer(t).URL
	v := visit(t, base, "en-US")
	starts := func(target string) {
		v.press("n")
		v.wait("document.activeElement.id === 'new-protocol'")
		v.key("\t")
		v.wait("document.activeElement.id === 'new-target'")
		v.key(target + "\r")
		v.wait("document.activeElement.id === 'step'")
	}
	executes := func(steps ...string) {
		for _, step := range steps {
			v.wait("document.activeElement.id === 'step' && document.activeElement.value === ''")
			v.key(step + "\r")
		}
	}
	leaves := func() {
		v.wait("document.activeElement.id === 'step' && document.activeElement.value === ''")
		v.key(kb.Escape)
		v.wait("document.activeElement.id === 'messages'")
	}
	starts("silent-switches")
	executes(usual...)
	v.wait("document.querySelector('.waitrow.running')?.innerText.includes('awaits')")
	leaves()
	v.press("x")
	v.wait("document.querySelectorAll('.steprow').length === 4 && document.querySelector('#waiting').hidden")

	starts("current-is-previous")
	executes(usual...)
	v.wait("document.querySelectorAll('.steprow').length === 4")
	leaves()
	v.press("w")
	v.wait("document.querySelector('#right .looks code')?.innerText === 'current-is-previous'")
	v.wait("document.activeElement.id === 'detail-clauses'")
	v.press("v")
	v.wait("document.querySelector('#diagram').dataset.view === 'list'")
	v.saves()
	v.press("s")
	v.wait("window.saved?.includes('client A switches to')")
	v.press("[")
	v.wait("document.querySelector('#title').innerText.startsWith('1 ')")
	v.press("]")
	v.wait("document.querySelector('#title').innerText.startsWith('2 ')")
	v.press("e")
	v.wait("document.activeElement.dataset.id === 'end'")
	v.key("\r")
	v.wait("document.querySelector('#title').innerText.startsWith('1 ')")
	v.playsByKeys()
}

// playsByKeys starts a play, has its messages held, and sends all of them on at once.
func (v *visitor) playsByKeys() {
	v.t.Helper()
	v.press("n")
	v.wait("document.activeElement.id === 'new-protocol'")
	for v.value("document.activeElement.id") != "start-test" {
		v.do(chromedp.KeyEvent("\t", chromedp.KeyModifiers(chromedp.ModifierShift)))
	}
	v.key(kb.ArrowRight)
	v.wait("document.activeElement.id === 'start-play'")
	for v.value("document.activeElement.placeholder ?? ''") != "127.0.0.1:0" {
		v.key("\t")
	}
	v.key("\r")
	v.wait("document.querySelector('.empty').innerText.includes('Connect your program')")
	v.wait("document.querySelector('.url code').innerText.startsWith('http')")
	url := v.value("document.querySelector('.url code').innerText")
	var programs []*program // the messages of one wait for each other
	for range 2 {
		p := connectProgram(v.t, strings.TrimSpace(url))
		p.readUntilType("agent_list")
		programs = append(programs, p)
	}
	v.key(kb.Escape)
	v.press("2")
	v.wait("document.activeElement.matches('.minds select')")
	v.key(kb.ArrowDown)
	v.wait("document.querySelector('.minds select').value === 'ask'")
	v.wait("document.querySelector('#live').textContent === 'Applied'")
	v.key(kb.Escape)
	v.wait("document.activeElement.id === 'messages'")
	for n, p := range programs {
		p.sendMessage(`{"type":"session_create","requestId":"r%d"}`, n)
	}
	v.wait("document.querySelector('#compose-held .badge')?.innerText === '2'")
	v.wait("document.querySelector('.minds .allheld').innerText.includes('Held: 2')")
	v.shot("minds")
	v.axe("minds", "html")
	v.press("a")
	for n, p := range programs {
		if got := p.readUntilType("session_created"); !strings.Contains(got[0], fmt.Sprintf(`"r%d"`, n)) {
			v.t.Errorf("program %d got %s", n, got)
		}
	}
	v.wait("document.querySelector('.minds .allheld').hidden")
}

// TestPageAlert: what is told covers nothing.
func TestPageAlert(t *testing.T) {
	base := pageServer(t).URL
	openTest(t, base)
	v := visit(t, base, "en-US")
	v.key("c")
	v.types("#step", "no such step")
	v.key("\r")
	v.wait("document.querySelector('#alert').innerText.includes('no such step')")
	const covered = `(() => {
		const a = document.querySelector("#alert").getBoundingClientRect();
		const overlaps = (b) => a.top < b.bottom - 1 && b.top < a.bottom - 1;
		return [...document.querySelectorAll(".bar, .work, .foot")].filter((e) => overlaps(e.getBoundingClientRect()))
			.map((e) => e.className).join(); })()`
	if got := v.value(covered); got != "" {
		t.Errorf("it covers %s", got)
	}
	v.shot("alert")
	v.axe("alert", "html")
}
