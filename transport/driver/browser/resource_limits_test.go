package browser

import (
	"strings"
	"testing"

	"parley/internal/tier"
	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// TestExcess: a page that uses more than it may is ended, whatever it is doing, and the record says of what; the
// browser goes on.
func TestExcess(t *testing.T) {
	for name, row := range map[string]struct {
		script, want string
		night        bool
	}{
		"dialogs": {`for (;;) confirm("sure?")`, "dialogs without end, more than 200", false},
		"windows": {`setInterval(() => window.open("about:blank"), 1)`, "windows without end, more than 20", true},
		"requests": {`setInterval(() => { for (let i = 0; i < 200; i++) fetch("/" + i).catch(() => {}) }, 1)`,
			"requests without end, more than 700 within 10 s", true},
		"workers": {`for (let i = 0; i < 40; i++) new Worker(URL.createObjectURL(new Blob(["for (;;);"])))`,
			"workers without end, more than 32 at once", true},
		"documents": {`location.href = "?" + Math.random()`, "requested documents without end, more than 100", true},
		"memory": {`const all = []; setInterval(() => all.push(new Uint8Array(64 << 20).fill(1)), 20)`,
			overMemory, false},
	} {
		t.Run(name, func(t *testing.T) {
			if row.night {
				tier.Night(t)
			}
			u := openHTML(t, `<button id=b>Go</button><script>const go = () => { `+row.script+
				` }; if (location.search) setTimeout(go, 0); b.onclick = () => setTimeout(go, 0)</script>`,
				driver.Page{Controls: map[string]string{"go": "#b"}})
			p := shared.b.p
			_, _ = u.c.Send(u.ctx, driver.Message{Body: []byte(`{"do":"click","on":"go"}`)}) // the page may end before that
			r := u.awaitKind(0, transcript.Closed, "")
			if !ByFault(r.Label) || !strings.Contains(r.Label, row.want) {
				t.Errorf("closed is %s", r.Line(200))
			}
			if err := u.c.AwaitIdle(u.ctx); err == nil || err.Error() != r.Label {
				t.Errorf("Settle: %v", err)
			}
			_ = u.c.Close(driver.Graceful)
			if other := openHTML(t, "<p>hi</p>", driver.Page{}); other.presentPage().Text != "hi" || shared.b.p != p {
				t.Error("the browser did not go on")
			}
		})
	}
}

// TestPlenty: a page that does much of everything, but ends, is not ended by the driver.
func TestPlenty(t *testing.T) {
	tier.Night(t)
	u := openHTML(t, `<button id=b>Go</button><p id=p></p><script>b.onclick = async () => {
		for (let i = 0; i < 50; i++) confirm("sure?");
		for (let i = 0; i < 100; i++) { const w = new Worker(URL.createObjectURL(new Blob(["postMessage(1)"])));
			await new Promise(done => { w.onmessage = done }); w.terminate() }
		for (let i = 0; i < 500; i++) await fetch("/" + i);
		let all = [new Uint8Array(256 << 20).fill(1)]; p.textContent = "done " + all.length }</script>`,
		driver.Page{Controls: map[string]string{"go": "#b"}})
	n := u.acts(`{"do":"click","on":"go"}`)
	u.awaitSnapshot(n, "the end", func(l snapshot.Page) bool { return strings.Contains(l.Text, "done 1") })
	if k := u.count(transcript.Closed, ""); k != 0 {
		t.Errorf("the page was closed %d times", k)
	}
}

// TestGreediest: the largest process ends if it alone, or all together, use too much.
func TestGreediest(t *testing.T) {
	for _, row := range []struct {
		reason string
		bytes  map[int]int
		want   int
	}{
		{"unknown", nil, 0},
		{"just enough", map[int]int{1: maxProcess, 2: maxProcess, 3: maxProcess}, 0},
		{"one is too large", map[int]int{1: 1, 2: maxProcess + 1, 3: 2}, 2},
		{"together too large", map[int]int{1: maxProcess, 2: maxProcess - 1, 3: maxProcess - 2, 4: 9}, 1},
	} {
		if got := greediestProcess(row.bytes); got != row.want {
			t.Errorf("%s: %d, want %d", row.reason, got, row.want)
		}
	}
}
