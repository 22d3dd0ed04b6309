package console_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/internal/script"
	"parley/internal/tier"
)

// saves makes the page keep in window.saved what it would save as a file.
func (v *visitor) saves() {
	v.t.Helper()
	v.js(`window.saved = null; URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; });
		return "data:,"; }; HTMLAnchorElement.prototype.click = () => {}`)
}

// mind sets the mind for all messages.
func (v *visitor) mind(name string) {
	v.t.Helper()
	v.click("#compose-minds")
	v.types(".minds select", name)
	v.wait("document.querySelector('.minds select').value === '" + name + "'")
}

const heldOf = "[...document.querySelectorAll('.heldbox h3')].some((h) => h.textContent.startsWith('"

// TestPagePlay: in a play, messages are held, edited, dropped and sent on; a mutant and a script answer; the session is
// saved as a script.
func TestPagePlay(t *testing.T) {
	base := pageServer(t).URL
	at, url := openPlay(t, base, nil)
	v := visit(t, base, "en-US")
	v.wait("document.querySelector('.empty').innerText.includes('Connect your program')")
	a := connectProgram(t, url)
	a.readUntilType("agent_list")
	v.mind("ask")
	ask(t, "POST", at+"/wait", map[string]string{"type": "agent_list", "dir": "sent"})
	for state := ""; !strings.Contains(state, `"mind":"ask"`); {
		state = string(ask(t, "GET", at, nil))
	}
	v.click("#compose-held")
	a.sendMessage(`{"type":"session_create","requestId":"r1"}`)
	v.wait(heldOf + "session_created'))")
	v.shot("held")
	v.axe("held", "#composer")
	v.types(".heldbox textarea", `{"type":"session_created","data":{"sessionId":"by hand"},"requestId":"r1"}`)
	v.click(".heldbox .main")
	if got := a.readUntilType("session_created"); !strings.Contains(got[0], "by hand") {
		t.Errorf("the program got %s", got)
	}
	v.wait("document.querySelector('.heldbox') === null")
	a.sendMessage(`{"type":"switch_agent","agentId":"debugger"}`)
	v.wait(heldOf + "agent_switched'))")
	v.click(".heldbox .row-of-buttons button:nth-child(3)") // dropped
	v.wait("document.querySelector('.heldbox') === null")
	a.sendMessage(`{"type":"switch_agent","agentId":"general"}`)
	v.wait(heldOf + "agent_switched'))")
	v.click(".heldbox .row-of-buttons button:nth-child(2)") // sent twice
	v.wait("document.querySelector('.heldbox') === null")
	a.sendMessage(`{"type":"switch_agent","agentId":"no_such_agent"}`)
	v.wait(heldOf + "error'))")
	v.mind("auto") // which sends on the held messages
	if got := a.readUntilType("error"); len(got) != 3 || !strings.Contains(got[0], `"currentAgentId":"general"`) ||
		got[0] != got[1] {
		t.Errorf("the program got %s", got)
	}
	v.saves()
	v.click("[data-id=saveScript]")
	v.wait("window.saved !== null")
	s, err := script.Parse("saved", []byte(v.value("window.saved")))
	if err != nil || s.As != "server" || !strings.Contains(v.value("window.saved"), "by hand") {
		t.Errorf("the page saves %v %s", err, v.value("window.saved"))
	}
}

// TestPageMinds: a fault and a script are chosen in the page, and answer programs; a mistake in a script is shown.
func TestPageMinds(t *testing.T) {
	tier.Night(t)
	base := pageServer(t).URL
	_, url := openPlay(t, base, nil)
	v := visit(t, base, "en-US")
	a := connectProgram(t, url)
	a.readUntilType("agent_list")
	v.click("#compose-minds")
	v.wait("document.querySelectorAll('#mutants option').length > 10")
	v.types(".minds input", "name-as-current-agent")
	if _, _, err := a.c.Read(a.ctx); err == nil || websocket.CloseStatus(err) == websocket.StatusInternalError {
		t.Errorf("the connection to the correct target ends with %v", err)
	}
	v.wait("document.querySelector('.minds select').value === 'mutant'")
	b := connectProgram(t, url)
	if all := b.readUntilType("agent_list"); !strings.Contains(all[len(all)-1], `"currentAgentId":"General"`) {
		t.Errorf("the mutant answers as the correct target: %s", all)
	}
	v.click("#compose-minds")
	v.click(".minds [data-id=script]")
	v.types("dialog textarea", "script: mine\nrules: 7\n")
	v.click("dialog .main")
	v.wait("/script:2:\\d+: /.test(document.querySelector('dialog .error').innerText)")
	v.shot("mistake")
	v.axe("mistake", "dialog")
	v.types("dialog textarea", `script: mine
protocol: agent-select
as: server
rules:
- on: {open: /agents/ws}
  answer: [{send: {type: agent_list, by: the script}}]
`)
	v.click("dialog .main")
	v.wait("!document.querySelector('dialog')")
	v.wait("document.querySelector('.minds [data-id=script]').innerText === 'mine'")
	v.mind("script")
	for err := error(nil); err == nil; { // the mutant is replaced, which ends its connections
		_, _, err = b.c.Read(b.ctx)
	}
	for range 100 { // until the mind has changed as well
		c := connectProgram(t, url)
		if got := c.readUntilType("agent_list"); strings.Contains(got[0], "the script") {
			return
		}
	}
	t.Error("the script does not answer")
}

// TestPageReplay: a recording that is uploaded is shown, and a file that is not a recording is refused in a sentence.
func TestPageReplay(t *testing.T) {
	tier.Night(t)
	base := pageServer(t).URL
	recorded := string(ask(t, "GET", openTest(t, base)+"/recording", nil))
	v := visit(t, base, "en-US")
	upload := func(text string) {
		v.key("n")
		v.click("#start-replay")
		b, _ := json.Marshal(text)
		v.wait("document.querySelector('#new-file') !== null")
		v.js(`const all = new DataTransfer(); all.items.add(new File([%s], "recorded.jsonl"));
			document.querySelector("#new-file").files = all.files; document.querySelector("dialog form").requestSubmit()`, b)
	}
	upload("no recording\n")
	v.wait("document.querySelector('dialog .error').innerText !== ''")
	v.shot("refused")
	v.axe("refused", "dialog")
	v.js("document.querySelector('dialog').close()")
	v.wait("!document.querySelector('dialog')")
	upload(recorded)
	v.wait("document.querySelector('#title').innerText.includes('Replay')")
	v.wait("document.querySelectorAll('.row').length > 4")
	v.click(".row")
	v.wait("document.querySelector('#right h2').innerText.startsWith('#1')")
}

// TestPageSuite: the suite runs against the target of a session, and its verdict is shown.
func TestPageSuite(t *testing.T) {
	tier.Night(t)
	base := pageServer(t).URL
	openTest(t, base)
	v := visit(t, base, "en-US")
	v.click("[data-id=runSuite]")
	v.wait("document.querySelector('dialog .verdict') !== null")
	v.shot("verdict")
	v.axe("verdict", "dialog")
	if got := v.value("document.querySelector('dialog').innerText"); !strings.Contains(got, "passed") {
		t.Errorf("the verdict is %s", got)
	}
}

// TestPageKeys: completion, filters, the list, the details and the sessions are used with the keyboard; the actions are
// saved.
func TestPageKeys(t *testing.T) {
	tier.Night(t)
	base := pageServer(t).URL
	openTest(t, base)
	openTest(t, base)
	v := visit(t, base, "en-US")
	v.wait("document.querySelectorAll('.steprow').length === 4")
	v.key("c")
	v.wait("document.activeElement.id === 'step'")
	v.types("#step", "client A is conn")
	v.wait("!document.querySelector('#suggest').hidden")
	v.key("\t")
	v.wait("document.querySelector('#step').value.startsWith('client A is connected')")
	v.key("\x1b") // the suggestions
	v.key("\x1b")
	v.wait("document.activeElement.id === 'messages'")
	v.key("j")
	v.wait("document.querySelector('.row[aria-selected=true]') !== null")
	v.key("d")
	v.wait("document.activeElement.getAttribute('role') === 'tab'")
	v.key("[")
	v.wait("location.hash === '#1'")
	v.wait("document.querySelectorAll('.steprow').length === 4")
	all := v.value("document.querySelectorAll('.row').length")
	for _, filter := range []string{"party:A", "type:switch_agent", "debugger", "clause:AS-042"} {
		v.types("#f-text", filter)
		v.wait("document.querySelectorAll('.row').length > 0 && document.querySelectorAll('.row').length < " + all)
		v.click("#filters [data-id=clear]")
		v.wait("document.querySelectorAll('.row').length === " + all)
	}
	v.saves()
	v.click("[data-id=saveScenario]")
	v.wait("window.saved?.includes('client A switches to')")
}

// TestPageUnjudgedPlay: if the program is not judged, the page says so, and why.
func TestPageUnjudgedPlay(t *testing.T) {
	tier.Night(t)
	base := pageServer(t).URL
	at, _ := openPlay(t, base, map[string]string{"protocol": "session-chat", "as": "model"})
	v := visit(t, base, "en-US")
	v.js("location.hash = %q", at[strings.LastIndex(at, "/")+1:])
	const told = "Your program is not judged: no clause of session-chat is about what a model gets"
	v.wait("document.querySelector('#left').innerText.includes('" + told + "')")
}

// TestPageJudgedPlay: the program's messages are judged during the play, on the page and in the API; a correct program
// has no findings.
func TestPageJudgedPlay(t *testing.T) {
	base := pageServer(t).URL
	for _, row := range []struct{ name, v, mark string }{{"correct", `"mvp-0.2"`, "good"}, {"faulty", `2`, "bad"}} {
		t.Run(row.name, func(t *testing.T) {
			at, url := openPlay(t, base, map[string]string{"protocol": "external-agent", "as": "host"})
			v := visit(t, base, "en-US")
			v.js("location.hash = %q", at[strings.LastIndex(at, "/")+1:])
			v.wait("document.querySelector('#left').innerText.includes('is judged as')")
			a := connectProgram(t, url, "/agent/ws")
			a.sendMessage(`{"v":"mvp-0.2","type":"relay.join","id":"1","payload":{"role":"agent","sessionId":"default"}}`)
			a.readUntilType("relay.joined")
			a.sendMessage(`{"v":%s,"type":"session.start","id":"2","payload":{"studyId":"s","participantId":"p"}}`, row.v)
			v.wait("document.querySelector('.outcomes ." + row.mark + "') !== null")
			outcomes := string(ask(t, "GET", at+"/outcomes", nil))
			findings := string(ask(t, "GET", at+"/findings", nil))
			if row.name == "correct" {
				if strings.Contains(outcomes, "failed") || !strings.Contains(outcomes, `"EA-019","outcome":"passed"`) ||
					strings.TrimSpace(findings) != "[]" {
					t.Errorf("outcomes %s\nfindings %s", outcomes, findings)
				}
				return
			}
			v.wait("[...document.querySelectorAll('.row .mark.bad')].some((m) => m.textContent === '✗ EA-019')")
			v.js("document.querySelector('.row .mark.bad').closest('.row').click()")
			v.click("#detail-clauses")
			v.wait("/Expected[^]*Observed/i.test(document.querySelector('#right').innerText)")
			v.shot("judged")
			v.axe("judged", "html")
			if !strings.Contains(outcomes, `"EA-019","outcome":"failed"`) || !strings.Contains(findings, `"clause":"EA-019"`) {
				t.Errorf("outcomes %s\nfindings %s", outcomes, findings)
			}
		})
	}
}
