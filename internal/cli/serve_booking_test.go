package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/internal/tier"
	"parley/transport/driver/browser"
)

// viewer is a page in a browser.
type viewer struct {
	t   *testing.T
	ctx context.Context
}

// TestInBrowser has the tests of pages share a browser, one after the other. While they wait for the pages of other
// packages (tier.Page), the rest of this package runs.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	for name, test := range map[string]func(*testing.T, tabs){
		"proxy": testProxyPage, "proxy of a command": testProxyPageCommand, "served page": testServedPage,
		"client busy": testClientBusy, "client unauthorized": testClientUnauthorized,
		"client unauthorized elsewhere": testClientUnauthorizedElsewhere, "welcome": testWelcomeInBrowser,
		"booking": testBookingPage, "booking cards": testBookingCards,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

// tabs is a browser whose windows share nothing; openBrowser starts it.
type tabs struct{ ctx context.Context }

// openBrowser starts a browser, which ends with the test.
func openBrowser(t *testing.T) tabs {
	t.Helper()
	tier.Page(t)
	command, err := browser.Find("")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(command), chromedp.NoSandbox, chromedp.WindowSize(1280, 800), chromedp.Flag("lang", "en"),
		chromedp.Flag("accept-lang", "en"))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // starts the browser, which lives as long as this context
		t.Fatal(err)
	}
	return tabs{ctx}
}

// view opens a page in a window of its own, which shares nothing with others.
func (b tabs) view(t *testing.T, url string) *viewer {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	v := &viewer{t, ctx}
	if err := chromedp.Do(ctx); err != nil { // opens the window, which lives as long as this context
		t.Fatal(err)
	}
	v.do(chromedp.Navigate(url))
	return v
}

// do performs actions; the bound is for a test that fails.
func (v *viewer) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// run runs a statement in the page.
func (v *viewer) run(statement string) {
	v.t.Helper()
	v.do(chromedp.Evaluate[chromedp.Void](statement + "; 0"))
}

// wait waits until an expression is true.
func (v *viewer) wait(expression string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		v.t.Fatalf("%s: %v; the page says %s", expression, err, v.value("document.body.innerText"))
	}
}

// value returns the value of an expression as text.
func (v *viewer) value(expression string) string {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, time.Minute)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	if s, ok := out.(string); ok {
		return s
	}
	b, err := json.Marshal(out)
	if err != nil {
		v.t.Fatal(err)
	}
	return string(b)
}

// axe fails for every violation that axe finds.
func (v *viewer) axe(where string) {
	v.t.Helper()
	axe, err := os.ReadFile("../../simulator/console/testdata/axe/axe.min.js")
	if err != nil {
		v.t.Fatal(err)
	}
	v.run(string(axe))
	v.run(`window.found = null; axe.run(document).then((r) => { window.found = r.violations.map((x) => x.id + ": " +
		x.nodes.map((n) => n.target + " " + n.failureSummary).join(" | ")).join("\n"); })`)
	v.wait("window.found !== null")
	if found := v.value("window.found"); found != "" {
		v.t.Errorf("%s: %s", where, found)
	}
}

// testWelcomeInBrowser: axe finds nothing on the page of a server, and the page loads nothing else.
func testWelcomeInBrowser(t *testing.T, b tabs) {
	v := b.view(t, served(t, greeters()[0], serveOptions{token: "s3cret"})+"/?token=s3cret")
	v.wait(`document.querySelectorAll("pre").length === 3`)
	if n := v.value(`performance.getEntriesByType("resource").length`); n != "0" {
		t.Errorf("the page loads %s files", n)
	}
	if got := v.value(`getComputedStyle(document.querySelector("main")).maxWidth`); got == "none" {
		t.Error("its style is not applied")
	}
	v.axe("welcome")
}

// testBookingPage: without a session the page says how to start one, and speaking is disabled; while an agent books,
// the page shows its calls with their reasons, and the messages, in one language; the choice of language persists.
func testBookingPage(t *testing.T, b tabs) {
	url := served(t, serving(t, "external-agent", "host", "--logs", t.TempDir()), serveOptions{})
	v := b.view(t, url)
	v.wait(`!document.getElementById("empty").hidden`)
	if v.value(`document.getElementById("text").disabled && document.getElementById("send").disabled &&
		document.getElementById("form").hidden`) != "true" {
		t.Error("one can speak without a session, or an empty form is shown")
	}
	command := v.value(`document.getElementById("command").textContent`)
	if !strings.HasPrefix(command, "parley serve external-agent --role agent --url ws"+strings.TrimPrefix(url, "http")) {
		t.Errorf("the command is %q", command)
	}
	v.axe("empty")

	v.run(`window.spoke = false; new MutationObserver(() => { window.spoke ||= !document.getElementById("text").disabled &&
		document.getElementById("empty").hidden; }).observe(document.body, {subtree: true, attributes: true})`)
	var said bytes.Buffer
	s := &streams{In: strings.NewReader(""), Out: &said, Err: io.Discard}
	if code := runParley(shellWords(command)[1:], s); code != 0 {
		t.Fatalf("exit %d: %s", code, &said)
	}
	v.wait(`window.spoke`)
	v.wait(`document.querySelectorAll("#calls [data-outcome=ok]").length > 5`)
	v.wait(`document.getElementById("text").disabled && !document.getElementById("empty").hidden`)
	if v.value(`[...document.querySelectorAll("#calls .reason")].every((p) =>
		/^Reason: ./.test(p.textContent))`) != "true" {
		t.Errorf("calls without a reason: %s", v.value(`document.getElementById("calls").innerText`))
	}
	if v.value(`document.getElementById("wire-box").open`) != "false" {
		t.Error("the wire is open")
	}
	v.run(`document.querySelector("#wire-box > summary").click()`)
	v.wait(`document.querySelectorAll("#wire [data-direction=in]").length > 5 &&
		document.querySelectorAll("#wire [data-direction=out]").length > 5`)
	v.run(`document.querySelector("#wire [data-direction=in] summary").click()`)
	v.wait(`document.querySelector("#wire pre")?.textContent.includes('"type"')`)
	v.axe("wire")

	v.do(chromedp.Navigate(v.value(`document.getElementById("language").href`)))
	v.wait(`document.documentElement.lang === "zh-CN" &&
		document.getElementById("calls-title").textContent === "工具调用" && !document.getElementById("empty").hidden`)
	v.do(chromedp.Navigate(url)) // the choice persists if the URL names no language
	v.wait(`document.documentElement.lang === "zh-CN"`)
	v.wait(`!document.getElementById("empty").hidden`)
	if v.value(`/Tool calls|No session|Copy/.test(document.body.innerText)`) != "false" {
		t.Errorf("two languages: %s", v.value("document.body.innerText"))
	}
}

// testBookingCards: the options of an agent neither look nor act like buttons for a person.
func testBookingCards(t *testing.T, b tabs) {
	v := b.view(t, served(t, serving(t, "external-agent", "host", "--logs", t.TempDir()), serveOptions{}))
	v.wait(`!document.getElementById("empty").hidden`)
	v.run(`document.getElementById("form").hidden = false;
		document.getElementById("items").append(document.createElement("li"))`)
	if got := v.value(`(() => { const li = document.querySelector("#items li"), s = getComputedStyle(li);
		return [s.cursor, s.borderTopStyle, li.matches("button, a, [tabindex], [role]")].join(" "); })()`); got !=
		"default none false" {
		t.Errorf("a card is %q", got)
	}
}
