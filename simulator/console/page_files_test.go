package console_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// opens opens a text as a file of a name, by the dialog.
func (v *visitor) opens(name, text string) {
	v.t.Helper()
	v.js("document.querySelector('dialog')?.close()")
	v.js("document.activeElement.blur()")
	v.key("n")
	v.click("#start-replay")
	b, _ := json.Marshal([]string{text, name})
	v.wait("document.querySelector('#new-file') !== null")
	v.js(`const all = new DataTransfer(); all.items.add(new File(...((x) => [[x[0]], x[1]])(%s)));
		const file = document.querySelector("#new-file"); file.files = all.files; file.dispatchEvent(new Event("change"))`, b)
}

// TestPageFiles: a session is saved as HAR and as a recording, and either can be opened again: the same messages are
// there, on the lanes of their connections, and the protocol of a HAR file is recognized.
func TestPageFiles(t *testing.T) {
	base := pageServer(t).URL
	openTest(t, base)
	v := visit(t, base, "en-US")
	for action, name := range map[string]string{"saveHAR": "page.har", "saveRecording": "session.jsonl"} {
		v.js("location.hash = '#1'")
		v.wait("document.querySelectorAll('.steprow').length === 4")
		v.saves()
		v.click("[data-id=" + action + "]")
		v.wait("window.saved?.includes('agent_switched') || document.querySelector('#alert').innerText !== ''")
		if got := v.value("document.querySelector('#alert').innerText"); got != "" {
			t.Fatal(got)
		}
		v.opens(name, v.value("window.saved"))
		if name == "page.har" {
			v.wait("!document.querySelector('#new-origin').closest('label').hidden")
			v.shot("har")
			v.axe("har", "dialog")
		}
		v.js("document.querySelector('dialog form').requestSubmit()")
		v.wait("document.querySelector('#title').innerText.includes('agent-select · Replay')")
		for _, filter := range []string{"type:agent_switched from:server", "type:switch_agent to:server"} {
			v.types("#f-text", filter)
			v.wait("document.querySelector('#counts').textContent.startsWith('1 of ')")
			v.wait("document.querySelectorAll('.lane').length === 2")
		}
		v.shot(name)
	}
}

// TestPageFilesDropped: a file that is dropped on the page is opened.
func TestPageFilesDropped(t *testing.T) {
	base := pageServer(t).URL
	recorded := ask(t, "GET", openTest(t, base)+"/recording", nil)
	v := visit(t, base, "en-US")
	v.js(`const all = new DataTransfer(); all.items.add(new File([%s], "dropped.jsonl"));
		document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: all, bubbles: true, cancelable: true }))`,
		quoted(string(recorded)))
	v.wait("document.querySelector('#new-file')?.files.length === 1")
	v.js("document.querySelector('dialog form').requestSubmit()")
	v.wait("document.querySelector('#title').innerText.includes('agent-select · Replay')")
	v.wait("document.querySelectorAll('.row').length > 4")
}

// TestPageFilesSeveralServers: a HAR file of several servers is refused with their URLs, and opened when one is chosen.
func TestPageFilesSeveralServers(t *testing.T) {
	entry := func(url string) string {
		return `{"startedDateTime":"2026-01-31T12:00:00.000Z","time":5,"_resourceType":"fetch","request":{"method":"POST",` +
			`"url":"` + url + `","httpVersion":"HTTP/1.1","headers":[],"queryString":[],"cookies":[],"headersSize":-1,` +
			`"bodySize":2,"postData":{"mimeType":"application/json","text":"{\"type\":\"switch_agent\"}"}},"response":` +
			`{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","headers":[],"cookies":[],"content":{"size":2,` +
			`"mimeType":"application/json","text":"{}"},"redirectURL":"","headersSize":-1,"bodySize":2},"cache":{},` +
			`"timings":{"send":0,"wait":5,"receive":0}}`
	}
	v := visit(t, pageServer(t).URL, "en-US")
	v.opens("two.har", `{"log":{"version":"1.2","entries":[`+entry("http://localhost:3000/message")+","+
		entry("http://localhost:4000/message")+`]}}`)
	v.js("document.querySelector('dialog form').requestSubmit()")
	const both = "http://localhost:3000 (1), http://localhost:4000 (1)"
	v.wait("document.querySelector('dialog .error').innerText.includes('" + both + "')")
	v.types("#new-origin", "http://localhost:4000")
	v.js("document.querySelector('dialog form').requestSubmit()")
	v.wait("document.querySelectorAll('.row').length === 2")
}

// TestPageCopies: a message is copied as what sends it again; the copied step does so.
func TestPageCopies(t *testing.T) {
	base := pageServer(t).URL
	at := openTest(t, base)
	v := visit(t, base, "en-US")
	v.types("#f-text", "type:switch_agent")
	v.wait("document.querySelectorAll('.row').length === 1")
	v.js("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
	v.click(".row")
	for form, begins := range map[string]string{"connect": "A> POST /message {", "curl": "curl -sS 'http://127.0.0.1:",
		"step": "    When client A sends raw:\n"} {
		v.click("[data-form=" + form + "]")
		v.wait("window.copied?.startsWith(" + string(quoted(begins)) + ")")
	}
	v.axe("copies", "#right")
	v.shot("copies")
	v.click("[data-form=step]")
	v.wait("window.copied.includes('sends raw')")
	lines := strings.Split(strings.TrimSpace(v.value("window.copied")), "\n")
	doc := strings.TrimSpace(strings.Join(lines[2:len(lines)-1], "\n"))
	ask(t, "POST", at+"/steps", map[string]string{"text": strings.TrimPrefix(lines[0], "When "), "doc": doc})
	v.wait("document.querySelectorAll('.row').length === 2")
	v.types("#f-text", "type:agent_switched from:server")
	v.wait("document.querySelectorAll('.row').length === 2")
	v.click(".row")
	v.wait("document.querySelector('#right h2').innerText.includes('agent_switched')")
	v.wait("document.querySelector('.copies') !== null && document.querySelector('.copies').hidden")
}
