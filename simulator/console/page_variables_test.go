package console_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestPageVariables: a raw message takes values from received messages, in the notation of scripts; they are offered
// while one writes, shown before the message is sent, and a name without a value is not sent.
func TestPageVariables(t *testing.T) {
	base := pageServer(t).URL
	openTest(t, base)
	v := visit(t, base, "en-US")
	v.wait("document.querySelectorAll('.steprow').length === 4")
	v.js("document.activeElement.blur()")
	v.press("2")
	v.wait("document.activeElement.matches('#compose-panel select')")
	v.js("document.querySelector('#raw').focus()")
	v.key(`POST /message {"type":"switch_agent","agentId":"general","connectionId":"${connectionid`)
	v.wait("document.querySelectorAll('#variables li').length === 1")
	v.shot("offered")
	v.axe("offered", "#composer")
	v.key(kb.ArrowDown)
	v.press("Enter")
	v.wait(`/"connectionId":"[$]{.data.connectionId}$/.test(document.querySelector('#raw').value)`)
	v.key(`","at":"${now}","n":"${agent_list/data/agents/0/id}","cost":"$${x}"}`)
	v.wait("document.querySelector('#variables').hidden")
	const filled = `/"connectionId":"conn_\w+","at":"\d+-.*Z","n":"general","cost":"[$]{x}"}$/`
	v.wait(filled + `.test(document.querySelector('.filled').innerText)`)
	v.shot("filled")
	v.js("document.querySelector('#composer .main').click()")
	v.wait(`[...document.querySelectorAll('.row')].some((r) => r.innerText.includes('"agentId":"general"'))`)
	v.types("#raw", `{"a":"${/no/such}"}`)
	v.wait("document.querySelector('.filled.warn').innerText.includes('No received message has /no/such')")
	rows := v.value("document.querySelectorAll('.row').length")
	v.js("document.querySelector('#composer .main').click()")
	v.wait("document.querySelector('#alert').innerText.includes('/no/such')")
	if got := v.value("document.querySelectorAll('.row').length"); got != rows {
		t.Errorf("something is sent: %s rows, and %s before", got, rows)
	}
	v.axe("no value", "#composer")
}
