// Package pages_test reads the pages that reports and certificates are in a browser, as people do, and takes the
// pictures of the documents.
package pages_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"parley/internal/tier"
	"parley/transport/driver/browser"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within bounds each wait; only a failing test uses it up.
const within = 30 * time.Second

// visitor is a tab of a browser.
type visitor struct {
	t   *testing.T
	ctx context.Context
	axe string
}

// start starts a browser, which ends with the test.
func start(t *testing.T, more ...chromedp.ExecAllocatorOption) *visitor {
	t.Helper()
	tier.Page(t)
	command, err := browser.Find("")
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile("../../simulator/console/testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(command), chromedp.NoSandbox), more...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	v := &visitor{t, ctx, string(axe)}
	if err := chromedp.Do(ctx); err != nil { // starts the browser, which lives as long as this context
		t.Fatal(err)
	}
	return v
}

// opens opens a file at the size of a screen, in a colour scheme.
func (v *visitor) opens(t *testing.T, file, scheme string, width int64) *visitor {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	v = &visitor{t, v.ctx, v.axe}
	v.colour(scheme)
	v.do(chromedp.EmulateViewport(width, 740), chromedp.Navigate("file://"+filepath.ToSlash(path)))
	return v
}

// colour chooses a colour scheme.
func (v *visitor) colour(scheme string) {
	v.t.Helper()
	if _, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, within)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// run runs a statement in the page.
func (v *visitor) run(statement string) {
	v.t.Helper()
	v.do(chromedp.Evaluate[chromedp.Void](statement + "; 0"))
}

// wait waits until an expression is true.
func (v *visitor) wait(expression string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, within)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		v.t.Fatalf("%s: %v; the page says %s", expression, err, v.value("document.body.innerText"))
	}
}

// value returns the value of an expression as text.
func (v *visitor) value(expression string) string {
	v.t.Helper()
	out, err := chromedp.Run(v.ctx, chromedp.Evaluate[any](expression))
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

// check fails for every violation that axe finds, by all its rules or by those that are named.
func (v *visitor) check(where string, rules ...string) {
	v.t.Helper()
	if v.value("typeof window.axe") == "undefined" {
		v.run(v.axe)
	}
	only, err := json.Marshal(rules)
	if err != nil {
		v.t.Fatal(err)
	}
	v.run(`window.found = null; window.only = ` + string(only))
	v.run(`axe.run(document, only ? {runOnly: only} : {}).then((r) => { window.found = r.violations.map((x) =>
		x.id + ": " + x.nodes.slice(0, 4).map((n) => n.target + " " + n.failureSummary).join(" | ")).join("\n"); })`)
	v.wait("window.found !== null")
	if found := v.value("window.found"); found != "" {
		v.t.Errorf("%s: %s", where, found)
		v.shot(where)
	}
}

// wide lists what is wider than the screen or has to be scrolled sideways to be read, except pictures.
const wide = `[...document.querySelectorAll("body, body *")].filter((e) => {
	if (e.closest("svg, script, style, .sr, thead") || e.querySelector(":scope > svg.cuts")) return false;
	const box = e.getBoundingClientRect();
	if (!box.width || !e.checkVisibility()) return false;
	return box.right > innerWidth + 1 || box.left < -1 ||
		(e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible" && e.clientWidth > 0);
}).slice(0, 5).map((e) => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().left) + ".." +
	Math.round(e.getBoundingClientRect().right) + " holds " + e.scrollWidth + " in " + e.clientWidth + ": " +
	e.textContent.trim().slice(0, 60)).concat(
	document.documentElement.scrollWidth > innerWidth ? ["the page is " + document.documentElement.scrollWidth] :
	[]).join("\n")`

// fits fails if something does not fit the width of the screen.
func (v *visitor) fits(where string) {
	v.t.Helper()
	if got := v.value(wide); got != "" {
		v.t.Errorf("%s: wider than %s:\n%s", where, v.value("innerWidth"), got)
		v.shot(where + " wide")
	}
}

// unfold opens all that is folded.
func (v *visitor) unfold() {
	v.t.Helper()
	v.run(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
}

// shot saves a picture in the folder that PARLEY_PAGE_SHOTS names, if it is set.
func (v *visitor) shot(name string) {
	dir := os.Getenv("PARLEY_PAGE_SHOTS")
	if dir == "" {
		return
	}
	if png, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot()); err == nil {
		_ = os.WriteFile(filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(v.t.Name()+"-"+name)+".png"), png,
			0o600)
	}
}
