package console_test

import (
	"testing"
)

// runtimeSteps begin a session of session-runtime, and say something.
var runtimeSteps = []string{`session "main" of agents "a" and "b" where agent "a" is active`, `the user says "one"`}

// TestPageOwed: what the target owes is on the page until it comes: what, by whom, since when; its clauses have their
// sentences, and it leads to the message that is the cause. When nothing is owed, nothing is shown.
func TestPageOwed(t *testing.T) {
	base := pageServer(t).URL
	at := openMutant(t, base, "session-runtime", "accepted-with-ack")
	ask(t, "POST", at+"/steps", map[string]string{"text": runtimeSteps[0]})
	v := visit(t, base, "en-US")
	v.wait("document.querySelectorAll('.steprow').length === 1")
	v.wait("document.querySelector('.owed') === null")
	ask(t, "POST", at+"/steps", map[string]string{"text": runtimeSteps[1]})
	const item = "document.querySelector('.owed li')"
	v.wait(item + "?.innerText.includes('TURN_ACCEPTED to the frontend')")
	v.wait("/the server owes it · main-\\S+ · [1-9]\\d* s/.test(" + item + ".innerText)") // it counts
	v.js(item + ".querySelector('summary').click()")
	v.wait(item + ".innerText.includes('立即通知前端')")
	v.wait(item + ".innerText.includes('because of message 5, USER_INPUT')")
	v.shot("owed")
	v.axe("owed", "#left")
	v.key("o")
	v.wait("document.activeElement === " + item + ".querySelector('button')")
	v.js("document.activeElement.click()")
	v.wait("document.querySelector('#right h2').innerText.startsWith('#5 ')")
	chinese := visit(t, base, "zh-CN")
	chinese.wait(item + "?.innerText.includes('应由 server 发送')")
	ask(t, "POST", at+"/steps", map[string]string{"text": `agent "a" acknowledges "one"`})
	v.wait("document.querySelectorAll('.steprow').length === 3")
	v.wait("document.querySelector('.owed') === null")
	ask(t, "DELETE", at, nil)
}

// TestPageOwedWait: the row of a step that waits names what is owed, by whom and by which clauses.
func TestPageOwedWait(t *testing.T) {
	base := pageServer(t).URL
	at := openMutant(t, base, "session-runtime", "input-not-routed")
	for _, step := range runtimeSteps {
		ask(t, "POST", at+"/steps", map[string]string{"text": step})
	}
	v := visit(t, base, "en-US")
	v.wait("document.querySelectorAll('.steprow').length === 2")
	v.key("c")
	v.types("#step", `"one" reaches agent "a"`)
	v.key("\r")
	v.wait("document.querySelector('.waitrow.running')?.innerText.includes(" +
		"'the server owes the input on its way to agent agent-a (RT-001 RT-013 RT-015')")
	v.shot("owedwait")
	v.js("document.querySelector('.waitrow.running button').click()")
	v.wait("document.querySelectorAll('.steprow').length === 3")
	v.wait("document.querySelector('#waiting').hidden && document.querySelector('.owed') !== null")
}
