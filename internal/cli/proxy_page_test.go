package cli

import (
	"bufio"
	"io"
	"regexp"
	"testing"

	"github.com/coder/websocket"
)

// held is an expression that is true when a message of a type is held on the page.
func held(kind string) string {
	return "[...document.querySelectorAll('.heldbox h3')].some((h) => h.textContent.startsWith('" + kind + "'))"
}

// asking has the page of a proxy hold all messages.
func (v *viewer) asking() {
	v.t.Helper()
	v.wait("document.querySelector('#compose-minds')")
	v.run("document.querySelector('#compose-minds').click()")
	v.wait("document.querySelector('.minds select')")
	v.run(`{ document.querySelector('#live').textContent = ''; const s = document.querySelector('.minds select');
		s.value = 'ask'; s.dispatchEvent(new Event('change', {bubbles: true})) }`)
	v.wait("document.querySelector('#live').textContent === 'Applied'") // else what comes now may pass
}

// edits replaces the text of the message that is held, and sends it.
func (v *viewer) edits(text string) {
	v.t.Helper()
	v.run("{ const t = document.querySelector('.heldbox textarea'); t.value = '" + text +
		"'; t.dispatchEvent(new Event('input', {bubbles: true})) }")
	number := v.value("document.querySelector('.heldbox').dataset.n")
	v.run("document.querySelector('.heldbox .main').click()")
	v.wait("document.querySelector('.heldbox[data-n=\"" + number + "\"]') === null")
}

// testProxyPage: a person sees on the page of a proxy what passes with its judgements, and edits a message of either
// side.
func testProxyPage(t *testing.T, b tabs) {
	p := startProxy(t, "--protocol", "session-chat", "--target", chatServer(t, "no-timestamp"), "--out", t.TempDir(),
		"--console", "127.0.0.1:0")
	at, page := p.url(), p.url()
	v := b.view(t, page)
	runChatTurn(t, quickClient(t), at)
	v.wait("[...document.querySelectorAll('.mark')].some((m) => m.textContent === '✗ SC-044')")
	v.wait("[...document.querySelectorAll('.row')].some((r) => r.textContent.includes('\"content\":\"hi\"'))")
	v.axe("proxy")
	v.asking()
	c, _, err := websocket.Dial(t.Context(), at+"/chat/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	v.run("document.querySelector('#compose-held').click()")
	if got := pings(t, c, func() {
		v.wait(held("ping"))
		v.edits(`{"type":"ping","by":"hand"}`)
		v.wait(held("pong"))
		v.edits(`{"type":"pang"}`)
	}); got != `{"type":"pang"}` {
		t.Errorf("after the edit: %s", got)
	}
	p.stop()
	if _, code := p.awaitEnd(); code != 1 {
		t.Errorf("exit %d\n%s", code, p.stderrText())
	}
}

// testProxyPageCommand: lines to and from a command are held and edited on the page of its proxy, and its exit code
// counts.
func testProxyPageCommand(t *testing.T, b tabs) {
	stdin, feed := io.Pipe()
	p := startProxyReading(t, stdin, "--protocol", "session-runtime", "--out", t.TempDir(), "--console", "127.0.0.1:0",
		"--", "sh", "-c", `while read -r line; do echo "$line"; done; echo last; exit 9`)
	v := b.view(t, p.awaitStderr(regexp.MustCompile(`(?m)^http://127\.0\.0\.1:\d+$`)))
	write := func(text string) {
		if _, err := io.WriteString(feed, text); err != nil {
			t.Error(err)
		}
	}
	out := bufio.NewReader(p.lines)
	write(`{"event":"CONTROL","subtype":"FIRST"}` + "\n")
	if line, err := out.ReadString('\n'); err != nil || line != `{"event":"CONTROL","subtype":"FIRST"}`+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	v.wait("[...document.querySelectorAll('.row')].filter((r) => r.textContent.includes('FIRST')).length === 2")
	v.asking()
	v.run("document.querySelector('#compose-held').click()")
	write(`{"event":"CONTROL","subtype":"SECOND"}` + "\n")
	v.wait("document.querySelector('.heldbox')")
	v.edits(`{"event":"CONTROL","subtype":"THIRD"}`)
	v.wait("document.querySelector('.heldbox textarea')?.value.includes('THIRD')")
	v.edits(`{"event":"CONTROL","subtype":"FOURTH"}`)
	if line, err := out.ReadString('\n'); err != nil || line != `{"event":"CONTROL","subtype":"FOURTH"}`+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	_ = feed.Close()
	v.wait(held("")) // the last line
	v.run("document.querySelector('.heldbox .main').click()")
	rest, err := io.ReadAll(out)
	if code := <-p.done; err != nil || string(rest) != "last\n" || code != 9 {
		t.Errorf("exit %d, %q, %v\n%s", code, rest, err, p.stderrText())
	}
}
