package console_test

import (
	"strings"
	"testing"
)

// TestPageWhy: one click on a failure shows why: the sentence of the clause, what was expected and observed, the
// records, the known faults that it looks like, and the command that judges it again.
func TestPageWhy(t *testing.T) {
	base := pageServer(t).URL
	at := openMutant(t, base, "agent-select", "current-is-previous")
	for _, step := range usual {
		ask(t, "POST", at+"/steps", map[string]string{"text": step})
	}
	v := visit(t, base, "en-US")
	v.wait("document.querySelector('#right h2').innerText === 'What failed'") // while nothing is selected
	v.wait("['AS-044', 'agent_switched'].every((x) => document.querySelector('#right').innerText.includes(x))")
	v.shot("failures")
	v.axe("failures", "#right")
	v.wait("document.querySelector('.row .mark.bad') !== null")
	v.js("document.querySelector('.row .mark.bad').click()")
	v.wait("document.querySelector('#right .looks code')?.innerText === 'current-is-previous'")
	v.wait("document.querySelector('#right .again code')?.innerText === 'again AS-044'")
	text := v.value("document.querySelector('#right').innerText")
	for _, want := range []string{"The answer names the new agent.", "应答新代理", "Expected ", "Observed ", "agent_switched"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing from %s", want, text)
		}
	}
	v.shot("why")
	v.axe("why", "html")
	v.click("#right .recordlist button") // the request that is answered
	v.wait("document.querySelector('.row[aria-selected=true]').innerText.includes('switch_agent')")
	v.js("document.activeElement.blur()")
	v.key("w")
	v.wait("document.querySelector('.row[aria-selected=true]').innerText.includes('agent_switched')")
	v.click("[data-id='cAS-044']")
	v.wait("document.querySelector('.row[aria-selected=true]').innerText.includes('agent_switched')")
}

// TestPageEdited: a message that was edited on its way is marked, and the original is beside it, line by line.
func TestPageEdited(t *testing.T) {
	base := pageServer(t).URL
	_, url := openPlay(t, base, nil)
	v := visit(t, base, "en-US")
	a := connectProgram(t, url)
	a.readUntilType("agent_list")
	a.sendMessage(`{"type":"session_create","requestId":"r1"}`)
	a.readUntilType("session_created")
	v.click(".held button") // holds all messages
	v.wait("document.querySelector('.held button') === null")
	a.sendMessage(`{"type":"switch_agent","agentId":"debugger"}`)
	v.wait("document.querySelector('.heldbox textarea') !== null")
	edited := strings.Replace(v.value("document.querySelector('.heldbox textarea').value"), `"debugger"`, `"nobody"`, 1)
	v.types(".heldbox textarea", edited)
	v.click(".heldbox .main")
	if got := a.readUntilType("agent_switched"); !strings.Contains(got[0], "nobody") {
		t.Errorf("the program got %s", got)
	}
	v.wait("document.querySelector('.row .mark.edit') !== null")
	v.js("document.querySelector('.row .mark.edit').click()")
	const changed = "[...document.querySelectorAll('.diff .del, .diff .ins')]" +
		".map((e) => e.innerText.replace(/\\s+/g, ' ').trim()).join()"
	v.wait(changed + ` === '- "currentAgentId": "debugger",,+ "currentAgentId": "nobody",'`)
	v.shot("edited")
	v.axe("edited", "html")
}
