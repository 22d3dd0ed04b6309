package console_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestPageStart: the dialog of a new session has the defaults chosen; a play starts untouched; what the party that is
// played does not need is not asked; a mistake is told beside its field, by the name of the field.
func TestPageStart(t *testing.T) {
	v := visit(t, pageServer(t).URL, "en-US")
	v.key("n")
	v.wait("document.activeElement.id === 'new-protocol'")
	chosen := "[...document.querySelectorAll('dialog select')].map((e) => e.selectedOptions[0].text).join('; ')"
	if got, want := v.value(chosen), "agent-select; Default (server); The target’s first"; got != want {
		t.Errorf("chosen: %s, want %s", got, want)
	}
	v.click("#start-play")
	v.wait("document.querySelector('#play-as').value === 'server'")
	v.wait("document.querySelectorAll('#new-mutants option').length > 10")
	v.shot("play")
	v.axe("play", "dialog")
	v.types("#play-as", "client")
	fields := "[...document.querySelectorAll('dialog .field')].filter((e) => e.checkVisibility())" +
		".map((e) => e.firstChild.textContent).join('; ')"
	v.wait(fields + " === 'Protocol; Party to play; Mind; Script; Your program'")
	v.types("#play-as", "server")
	v.wait(fields + " === 'Protocol; Party to play; Mind; Listen at; Your server (upstream)'")
	v.types("dialog [placeholder='127.0.0.1:0']", "0.0.0.0:0")
	v.js("document.querySelector('dialog form').requestSubmit()")
	v.wait("document.querySelector('dialog .error').innerText.startsWith('Listen at: ')")
	v.wait("document.activeElement.getAttribute('aria-invalid') === 'true'")
	v.key(kb.Escape)
	v.wait("!document.querySelector('dialog')")
	v.key("n")
	v.click("#start-play")
	v.wait("document.querySelector('#play-mind').value === 'auto'")
	v.js("document.querySelector('dialog form').requestSubmit()")
	v.wait("document.querySelector('.empty').innerText.includes('Connect your program')")
}
