package console_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"parley/internal/script"
	"parley/internal/tier"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/simulator"
	"parley/simulator/console"
	"parley/simulator/counterpart"
	"parley/simulator/scripts"
	"parley/steps/protocols"
	"parley/steps/sessionruntime/binding"
	"parley/target"
	"parley/transport/driver/browser"
)

// suite runs the tests, and ends the shared browser before goroutines are counted.
type suite struct{ m *testing.M }

// Run implements what goleak asks for.
func (s suite) Run() int {
	defer tier.AllPages()()
	defer closeBrowser()
	return s.m.Run()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

//go:embed testdata/axe/axe.min.js
var axe string

// pageWithin bounds each wait of a test; only a failing test uses it up.
const pageWithin = 2 * time.Minute

// pageServer serves a console whose tests use the bundled targets.
func pageServer(t testing.TB) *httptest.Server {
	t.Helper()
	ids := []console.Protocol{}
	for _, name := range []string{"agent-select"} {
		ids = append(ids, console.Protocol{ID: name, Roles: []string{"server"}, As: []string{"server", "client"},
			Clients: []string{"client"}, Scripts: []string{"client"}, Drivers: []string{"sse", "ws"}})
	}
	c, err := console.New(console.Options{
		Protocols: func() []console.Protocol { return ids },
		Open: func(ctx context.Context, o console.TestOptions) (*simulator.Session, error) {
			return simulator.Open(ctx, targetOf(o))
		},
		Run: func(ctx context.Context, o console.TestOptions, out string, tell runner.Observer) (*reports.Results, error) {
			opts := targetOf(o)
			opts.Out, opts.Observer, opts.Tags = out, tell, "@AS-042"
			return runner.Run(ctx, opts)
		},
		Again: func(_ console.Session, _ bool, clause string) string { return "again " + clause },
		Play:  play, TypeOf: func(protocol string, body []byte) string { return bundled.All.Find(protocol).TypeOf(body) },
		Mutants: func(protocol, _, _ string) (out []console.Mutant, err error) {
			for _, m := range bundled.All.Find(protocol).Parties()[0].Mutants() {
				out = append(out, console.Mutant{ID: m.ID, Why: m.Why, Clauses: m.Clauses})
			}
			return out, nil
		},
		Scripts: func(protocol string) (out []console.Script, err error) {
			for _, s := range scripts.List(protocol) {
				text, err := scripts.Text(s.Protocol, s.Name)
				if err != nil {
					return nil, err
				}
				out = append(out, console.Script{Name: s.Name, Protocol: s.Protocol, As: s.As, Title: s.Title,
					Source: string(text)})
			}
			return out, nil
		},
		Clauses: func(string) ([]console.Clause, error) {
			return []console.Clause{{ID: "AS-042", Level: "MUST", Section: "4", Text: "The agent is switched.",
				Source: "切换代理"}, {ID: "RT-074", Level: "MUST", Section: "4A", Text: "The frontend is told at once.",
				Source: "立即通知前端"}, {ID: "AS-044", Level: "MUST", Section: "4", Text: "The answer names the new agent.",
				Source: "应答新代理"}}, nil
		},
		Schemas: func(string) ([]console.Schema, error) {
			return []console.Schema{{Type: "switch_agent", From: "client", Method: "POST", Path: "/message",
				Schema: map[string]any{"type": "object", "required": []string{"type", "agentId"},
					"properties": map[string]any{"type": map[string]any{"const": "switch_agent"},
						"agentId": map[string]any{"type": "string", "minLength": 2}, "count": map[string]any{"type": "integer"}}}},
				{Type: "error", From: "server", Schema: map[string]any{"type": "object", "required": []string{"type"},
					"properties": map[string]any{"type": map[string]any{"const": "error"}},
					"examples":   []any{map[string]any{"type": "error", "data": "busy"}}}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(c)
	t.Cleanup(func() { srv.Close(); c.Close() })
	return srv
}

// targetOf are the options of a run or a session with a bundled target, or with the mutant that is named as target; the
// silent one has an hour for each message.
func targetOf(o console.TestOptions) runner.Options {
	b := bundled.All.For(protocols.Kinds(), o.Protocol, o.Role)
	out := runner.Options{Protocols: protocols.All, Profile: b.Profile, Launcher: b.Launcher, Brain: b.Brain}
	for _, m := range bundled.All.Mutants(protocols.Kinds(), o.Protocol, o.Role) {
		if m.ID == o.Target {
			out.Launcher = m.Launch(b.Brain)
			if patient := *b.Profile; m.ID == "silent-switches" || m.ID == "input-not-routed" {
				patient.Limits.Event.Duration = time.Hour
				out.Profile = &patient
			}
			if m.ID == "input-not-routed" { // no fence ends the wait
				unfenced := *binding.Of(b.Profile)
				unfenced.Fence = false
				out.Profile.Sections = []target.Section{{Key: o.Protocol, Value: &unfenced}}
			}
		}
	}
	return out
}

// play plays the first party of a protocol.
func play(ctx context.Context, o console.PlayOptions) (console.Player, error) {
	of := bundled.All.Find(o.Protocol)
	read := func(text string) (*script.Script, error) {
		if !strings.Contains(text, "\n") {
			return scripts.Get(o.Protocol, text)
		}
		return script.Parse("script", []byte(text))
	}
	c := counterpart.Options{Protocol: o.Protocol, As: o.As, TypeOf: of.TypeOf, Mind: counterpart.Mind(o.Mind),
		Mutant: o.Mutant, HoldFor: time.Hour}
	var err error
	if c.Steps, err = protocols.All.Find(o.Protocol); err != nil {
		return nil, err
	}
	if o.As == "model" { // no party of the protocol
		c.Steps = nil
	}
	c.Start = func(ctx context.Context, mutant, url string) (counterpart.Peer, error) {
		base, stop, err := of.Parties()[0].Start(ctx, mutant, url)
		return counterpart.Peer{URL: base, Stop: stop}, err
	}
	if o.Script != "" {
		s, err := read(o.Script)
		if err != nil {
			return nil, err
		}
		c.Script = s
	}
	p, err := counterpart.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return console.Counterpart(p, read), nil
}

// visitor is a page in its own browser profile.
type visitor struct {
	t   testing.TB
	ctx context.Context
}

// theBrowser is shared by all tests, since a browser is slow to start. The first test that needs it starts it.
var theBrowser struct {
	once sync.Once
	ctx  context.Context
	end  context.CancelFunc
	err  error
}

// shared returns the context of the browser, which must be installed.
func shared(t testing.TB) context.Context {
	t.Helper()
	command, err := browser.Find("")
	if err != nil {
		t.Fatal(err)
	}
	b := &theBrowser
	b.once.Do(func() {
		allocator, endAllocator := chromedp.NewExecAllocator(context.Background(),
			append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(command), chromedp.NoSandbox,
				chromedp.WindowSize(1280, 800))...)
		ctx, end := chromedp.NewContext(allocator)
		b.ctx, b.end = ctx, func() { end(); endAllocator() }
		b.err = chromedp.Do(ctx) // starts the browser, which lives as long as this context
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.ctx
}

// closeBrowser ends the browser, if a test has started it.
func closeBrowser() {
	if theBrowser.end != nil {
		theBrowser.end()
	}
}

// visit opens a page in its own browser profile, for a user of that language.
func visit(t testing.TB, url, language string) *visitor {
	t.Helper()
	ctx, cancel := chromedp.NewContext(shared(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	v := &visitor{t, ctx}
	late := time.AfterFunc(pageWithin, cancel) // chromedp waits for the new tab without a limit
	if err := chromedp.Do(ctx); err != nil {
		closeBrowser()
		theBrowser.once = sync.Once{} // the next test starts another one
		t.Fatalf("the browser opens no tab: %v", err)
	}
	late.Stop()
	v.do(chromedp.EmulateViewport(1280, 800))
	v.speaks(language)
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{
		Enabled: true}); err != nil { // as if its window had the focus
		t.Fatal(err)
	}
	v.do(chromedp.Navigate(url))
	v.wait("document.documentElement.dataset.ready === 'true'")
	return v
}

// speaks sets the language of the page's user.
func (v *visitor) speaks(language string) {
	v.t.Helper()
	if _, err := chromedp.Call(v.ctx, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: v.value("navigator.userAgent"), AcceptLanguage: language}); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, pageWithin)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		v.shot("failed")
		v.t.Fatal(err)
	}
}

// wait waits until an expression is true.
func (v *visitor) wait(expression string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, pageWithin)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(pageWithin))); err != nil {
		v.shot("failed")
		v.t.Fatalf("%s: %v; the page says %s", expression, err, v.value("document.body.innerText"))
	}
}

// value returns the value of an expression as text.
func (v *visitor) value(expression string) string {
	out, err := chromedp.Run(v.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	if s, ok := out.(string); ok {
		return s
	}
	b, _ := json.Marshal(out)
	return string(b)
}

func (v *visitor) key(keys string) { v.t.Helper(); v.do(chromedp.KeyEvent(keys)) }

// shot saves a screenshot of the page in the folder that PARLEY_PAGE_SHOTS names, if it is set.
func (v *visitor) shot(name string) {
	dir := os.Getenv("PARLEY_PAGE_SHOTS")
	if dir == "" {
		return
	}
	if png, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot()); err == nil {
		_ = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(v.t.Name(), "/", "-")+"-"+name+".png"), png, 0o600)
	}
}

// axe fails for every violation that axe finds below a selector; rules limits it to some rules.
func (v *visitor) axe(where, below string, rules ...string) {
	v.t.Helper()
	if v.value("typeof window.axe") == "undefined" {
		v.do(chromedp.Evaluate[chromedp.Void](axe + ";0"))
	}
	options := "{}"
	if len(rules) > 0 {
		b, _ := json.Marshal(map[string]any{"runOnly": rules})
		options = string(b)
	}
	v.do(chromedp.Evaluate[chromedp.Void](`window.found = null; axe.run(` + strconv.Quote(below) + `, ` + options +
		`).then((r) => { window.found = r.violations.map((x) => x.id + ": " + x.nodes.map((n) => n.target + " " +
			n.failureSummary).join(" | ")).join("\n"); }); 0`))
	v.wait("window.found !== null")
	if found := v.value("window.found"); found != "" {
		v.t.Errorf("%s: %s", where, found)
		v.shot("axe-" + where)
	}
}

// js evaluates an expression for its effect.
func (v *visitor) js(format string, args ...any) {
	v.t.Helper()
	v.do(chromedp.Evaluate[chromedp.Void]("(() => { " + fmt.Sprintf(format, args...) + "; return 0; })()"))
}

// click clicks the first element that a selector finds, or the button with its own id in the left pane.
func (v *visitor) click(selector string) {
	v.t.Helper()
	v.wait("document.querySelector(" + strconv.Quote(selector) + ") !== null")
	v.js("document.querySelector(%q).click()", selector)
}

// types replaces the value of a control by a text, as pasting does.
func (v *visitor) types(selector, text string) {
	v.t.Helper()
	v.wait("document.querySelector(" + strconv.Quote(selector) + ") !== null")
	b, _ := json.Marshal(text)
	v.js(`const e = document.querySelector(%q); e.focus(); e.value = %s;
		for (const name of ["input", "change"]) e.dispatchEvent(new Event(name, { bubbles: true }))`, selector, b)
}
