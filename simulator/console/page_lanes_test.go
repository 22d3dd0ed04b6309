package console_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// outOfView lists the elements of a selector that are not within the visible part of the diagram.
const outOfView = `[...document.querySelectorAll(%q)].filter((e) => { const box = e.getBoundingClientRect();
	const room = document.querySelector("#diagram").getBoundingClientRect();
	const right = room.left + document.querySelector("#diagram").clientWidth;
	return box.width === 0 || box.left < room.left - 1 || box.right > right + 1; }).map((e) => e.textContent).join(" ")`

// TestPageLanes: with 100 connections the lane of the server and the marks of failures stay in view at each width and
// however the lanes are scrolled; lanes are in the order of their numbers, and no row is without its party.
func TestPageLanes(t *testing.T) {
	failing := func(n int) string {
		of := fmt.Sprintf("C%d", (n*37)%100+1)
		return strings.Replace(pageRecord(n, of, mixed(n)), `"clauses":[]`, `"clauses":["AS-042"]`, 1)
	}
	v := visit(t, pageFake(t, 400, failing, many(100, func(int) bool { return false })...).URL, "en-US")
	v.wait("document.querySelector('#counts').textContent === '400 of 400 records'")
	for _, view := range []string{"diagram", "list"} {
		v.click("#filters [data-id=" + view + "View]")
		for _, width := range []int64{1280, 1920, 390} {
			v.do(chromedp.EmulateViewport(width, 844))
			v.wait(fmt.Sprintf("innerWidth === %d", width))
			for _, left := range []string{"0", "1e6"} {
				v.js("document.querySelector('#diagram').scrollLeft = %s", left)
				v.wait("document.querySelectorAll('.row .mark.bad').length >= document.querySelectorAll('.row').length")
				v.wait(fmt.Sprintf(outOfView, ".row .marks, .lane.peer") + " === ''")
			}
			v.shot(fmt.Sprintf("%s-%d", view, width))
		}
	}
	v.do(chromedp.EmulateViewport(1280, 800))
	v.click("#filters [data-id=diagramView]")
	v.js("document.querySelector('#diagram').scrollLeft = 0")
	v.wait("[...document.querySelectorAll('.lane:not(.peer)')].slice(0, 5).map((e) => e.textContent).join() === " +
		"'C1,C4,C7,C10,C13'")
	v.wait("[...document.querySelectorAll('.row .label')].every((e) => /^C\\d+/.test(e.textContent))")
	v.axe("diagram", "#middle")
}

// TestPageLanesFolded: lanes of closed connections are one lane, until the user unfolds them; its rows have the names
// of their parties.
func TestPageLanesFolded(t *testing.T) {
	v := visit(t, pageFake(t, 120, mixed, many(30, func(i int) bool { return i > 3 })...).URL, "en-US")
	v.wait("document.querySelector('#counts').textContent === '120 of 120 records'")
	heads := "[...document.querySelectorAll('.lane')].map((e) => e.textContent).join()"
	v.wait(heads + " === '27 closed,C1,C2,C3,server'")
	v.wait("[...document.querySelectorAll('.row .who')].some((e) => e.textContent === 'C30')")
	v.wait("[...document.querySelectorAll('.row .who')].every((e) => !/^C[123]$/.test(e.textContent))")
	v.shot("folded")
	v.axe("folded", "#middle")
	v.click("#filters [data-id=foldClosed]")
	v.wait(heads + ".startsWith('C1,C3,C5,') && " + heads + ".endsWith('C27,server')")
	v.types("#theme", "dark")
	v.shot("unfolded")
}

// TestPageRequests: requests of clients with an event stream are on the lanes of their clients, by the ids of their
// connections; so are the answers, and the requests that open the streams.
func TestPageRequests(t *testing.T) {
	base := pageServer(t).URL
	_, url := openPlay(t, base, nil)
	id := regexp.MustCompile(`"connectionId":"([^"]+)"`)
	for _, switches := range []int{1, 2} {
		stream, err := http.Get(url + "/events")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stream.Body.Close() })
		first := make([]byte, 512)
		n, err := io.ReadAtLeast(stream.Body, first, 100)
		if err != nil {
			t.Fatal(err)
		}
		found := id.FindSubmatch(first[:n])
		if found == nil {
			t.Fatalf("no id of a connection in %s", first[:n])
		}
		for range switches {
			body := fmt.Sprintf(`{"type":"switch_agent","agentId":"plan","connectionId":%q}`, found[1])
			res, err := http.Post(url+"/message", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
	}
	v := visit(t, base, "en-US")
	for filter, want := range map[string]int{"kind:request": 5, "party:C1 kind:request": 2, "party:C2 kind:request": 3,
		"from:C2 to:server": 3, "party:C1 kind:response": 1, "party:C2 kind:response": 2} {
		v.types("#f-text", filter)
		v.wait(fmt.Sprintf("document.querySelector('#counts').textContent.startsWith('%d of ')", want))
	}
	v.types("#f-text", "kind:request")
	for _, width := range []int64{390, 768, 1280} {
		v.do(chromedp.EmulateViewport(width, 844))
		v.wait(fmt.Sprintf("innerWidth === %d", width))
		v.wait(`document.querySelectorAll(".arrow").length > 2 && [...document.querySelectorAll(".arrow")].every((e) =>
			getComputedStyle(e).borderTopColor === getComputedStyle(e, "::after").color)`)
	}
	v.shot("requests")
}

// TestPageList: the list has a line for each message; it is what a phone shows, and the choice stays.
func TestPageList(t *testing.T) {
	v := visit(t, pageFake(t, 120, mixed).URL, "en-US")
	v.wait("document.querySelector('#counts').textContent === '120 of 120 records'")
	v.wait("document.querySelector('#diagram').dataset.view === 'diagram'")
	v.types("#f-text", "n:29..30")
	v.click("#filters [data-id=listView]")
	line := func(n int) string {
		return v.value(fmt.Sprintf("[...document.querySelectorAll('.row')[%d].children].map((e) => "+
			"e.textContent.trim()).join(' | ')", n))
	}
	want := []string{`29 | 2.900 | C30 → server | switch_agent | agentId=debugger sessionId=sess_29 requestId=q29 |` +
		`  | 84 B | `,
		`30 | 3.150 | server → C30 | agent_switched | requestId=q29 note=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | 250 ms | 92 B | ` +
			`✗ 2 AS-043 AS-042`}
	for i, want := range want {
		if got := line(i); got != want {
			t.Errorf("line %d: %s\nwant %s", i, got, want)
		}
	}
	v.click("#filters [data-id=clear]")
	v.shot("list")
	v.axe("list", "#middle")
	v.js("document.querySelector('#messages').focus()")
	v.key("k")
	v.wait("document.querySelector('.row[aria-selected=true] .cNumber').textContent === '120'")
	v.do(chromedp.Reload())
	v.wait(ready + "document.querySelector('#diagram').dataset.view === 'list'")
	v.js("localStorage.clear()")
	for width, view := range map[int64]string{390: "list", 1280: "diagram"} {
		v.do(chromedp.EmulateViewport(width, 844), chromedp.Reload())
		v.wait(ready + "document.querySelector('#diagram').dataset.view === '" + view + "'")
		v.wait("document.querySelectorAll('.row').length > 5")
		v.shot(view)
		v.axe(view, "#middle")
	}
}
