package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reports"
)

// uploads chooses files in the dialog of a new session, and starts the replay.
func (v *visitor) uploads(files map[string]string) {
	v.t.Helper()
	v.key("n")
	v.click("#start-replay")
	v.wait("document.querySelector('#new-file') !== null")
	b, _ := json.Marshal(files)
	v.js(`const all = new DataTransfer();
		for (const [name, text] of Object.entries(%s)) all.items.add(new File([text], name));
		document.querySelector("#new-file").files = all.files; document.querySelector("dialog form").requestSubmit()`, b)
}

// broken is a run in which a scenario failed, and its transcript.
func broken(t *testing.T) map[string]string {
	t.Helper()
	steps := []reports.Step{{Keyword: "Given ", Text: usual[0]}, {Keyword: "And ", Text: usual[1]}}
	results, err := json.Marshal(reports.Results{Verdict: verdict.NonConformant, Exit: 1, Runs: []reports.Run{{
		Protocol: "agent-select", Role: "server", Target: reports.Target{URL: "http://localhost:3000"},
		Scenarios: []reports.Scenario{{ID: "AS-4-01", Name: "a switch", Driver: "ws", Outcome: verdict.Failed, Steps: steps,
			Failures: []reports.Failure{{Clause: "AS-042", Expected: "debugger", Observed: "general",
				At: "client A, record 3, +1.5 ms"}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"results.json": string(results), "switch.txt": strings.Join([]string{
		`       1     0.100 ms  A  -> open GET /agents/ws (upgrade)`,
		`       2     0.900 ms  A  -> frame switch_agent (text)  {"type":"switch_agent","agentId":"debugger"}`,
		`       3     1.500 ms  A  <- frame agent_switched (text)  ` +
			`{"type":"agent_switched","data":{"currentAgentId":"general"}}`,
		""}, "\n")}
}

// TestPageGoOn: a scenario that failed in a run is opened, and stepped through to the message that broke the clause.
// From there the session continues by hand: with the same target, through the same steps, and then others.
func TestPageGoOn(t *testing.T) {
	tier.Night(t)
	v := visit(t, pageServer(t).URL, "en-US")
	v.uploads(broken(t))
	v.wait("document.querySelectorAll('.row').length === 3")
	v.wait("[...document.querySelectorAll('.row .mark.bad')].some((m) => m.textContent === '✗ AS-042')")
	v.key("m")
	v.key(kb.Home)
	for n := 1; n <= 3; n++ {
		v.wait(fmt.Sprintf("document.querySelector('#right h2').innerText.startsWith('#%d')", n))
		v.key("j")
	}
	v.wait("document.querySelector('.row[aria-selected=true]').innerText.includes('agent_switched')")
	v.key("d")
	v.click("#detail-clauses")
	v.wait("/Expected debugger[^]*Observed general/.test(document.querySelector('#right').innerText)")
	v.shot("failed")
	v.axe("failed", "html")
	v.wait("document.querySelectorAll('#composer .steps li').length === 2")
	v.click("#composer .main")
	v.wait("document.querySelector('#new-target')?.value === 'http://localhost:3000'")
	v.js("document.querySelector('dialog form').requestSubmit()")
	for n := 1; n <= 2; n++ {
		v.wait("document.querySelector('.next')?.innerText.includes(" + string(quoted(usual[n-1])) + ")")
		v.click(".next button")
		v.wait(fmt.Sprintf("document.querySelectorAll('.steprow').length === %d", n))
	}
	v.wait("document.querySelector('.next') === null")
	v.types("#step", usual[2])
	v.key("\r")
	v.wait("document.querySelectorAll('.steprow').length === 3")
	v.wait("[...document.querySelectorAll('.row')].some((r) => r.innerText.includes('switch_agent'))")
}

func quoted(text string) []byte {
	b, _ := json.Marshal(text)
	return b
}

// TestPageHoldByKeys: with the keyboard alone, the mind is set and held messages are sent on.
func TestPageHoldByKeys(t *testing.T) {
	tier.Night(t)
	base := pageServer(t).URL
	_, url := openPlay(t, base, nil)
	v := visit(t, base, "en-US")
	a := connectProgram(t, url)
	a.readUntilType("agent_list")
	v.wait("document.querySelectorAll('.row').length > 3")
	v.key("2")
	v.wait("document.activeElement.matches('.minds select')")
	v.key(kb.ArrowDown)
	v.wait("document.querySelector('.minds select').value === 'ask'")
	v.wait("document.querySelector('#live').textContent === 'Applied'")
	v.key("\x1b")
	v.wait("document.activeElement.id === 'messages'")
	a.sendMessage(`{"type":"session_create","requestId":"r1"}`)
	v.wait("document.querySelector('#compose-held .badge') !== null")
	// a key sent by the driver is also a character, which would be typed into the field that then has the focus
	v.js(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }))`)
	v.wait("document.activeElement.matches('.heldbox textarea')")
	v.key("\t")
	v.wait("document.activeElement.matches('.heldbox .main')")
	v.key("\r")
	a.readUntilType("session_created")
	v.wait("document.querySelector('.heldbox') === null")
}
