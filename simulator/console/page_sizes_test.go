package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/internal/tier"
)

// TestPageSizes: at each screen size no part of the page is wider than the screen, whatever it shows; axe finds
// nothing.
func TestPageSizes(t *testing.T) {
	tier.Night(t)
	base := pageServer(t).URL
	long := strings.Repeat("a long text without end ", 40)
	v := visit(t, base, "en-US")
	fits := func(what string) {
		t.Helper()
		for _, size := range [][2]int64{{1280, 800}, {1920, 1080}, {390, 844}} {
			v.do(chromedp.EmulateViewport(size[0], size[1]))
			v.wait(fmt.Sprintf("innerWidth === %d", size[0]))
			const wide = `[...document.querySelectorAll("body > *, main > *, dialog, .pane > *, .composer > *")].filter((e) =>
				e.id !== "live" && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1))
				.map((e) => e.id || e.className || e.tagName).join(" ") + (document.body.scrollWidth > innerWidth ? " body" : "")`
			if got := v.value(wide); got != "" {
				t.Errorf("%s at %d: %s is too wide", what, size[0], got)
			}
			v.shot(fmt.Sprintf("%s-%d", what, size[0]))
			if size[0] == 390 {
				v.axe(what+" narrow", "html")
			}
		}
	}
	fits("empty")
	at, url := openPlay(t, base, nil)
	v.do(chromedp.Navigate(base))
	v.wait("document.querySelector('.empty').innerText.includes('Connect your program')")
	fits("waiting")
	a := connectProgram(t, url)
	a.readUntilType("agent_list")
	a.sendMessage(`{"type":"chat","content":%q}`, long)
	v.wait("document.querySelectorAll('.row').length > 3")
	ask(t, "PUT", at+"/mind", map[string]string{"mind": "ask"})
	a.sendMessage(`{"type":"session_create","requestId":%q}`, strings.ReplaceAll(long, " ", "_"))
	v.wait("document.querySelector('#compose-held .badge') !== null")
	v.click("#compose-held")
	v.js("document.querySelectorAll('.row')[4].click()")
	v.types("#theme", "dark")
	fits("held")
	v.js("document.activeElement.blur()")
	v.key("n")
	v.wait("document.querySelector('dialog[open]') !== null")
	v.types("#new-target", long)
	v.js("document.querySelector('dialog form').requestSubmit()")
	fits("dialog")
}
