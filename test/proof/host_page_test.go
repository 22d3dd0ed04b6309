package proof_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps/externalagent/binding"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
	"parley/transport/driver/browser"
)

// pageChange is a change in a file of examples/servers/python-host, or in its profile: from occurs there once.
type pageChange struct{ file, from, to string }

const (
	hostPageProfile = "python-host-page.yaml"
	fieldInPage     = `<textarea id="line" rows="2" cols="60"></textarea>`
)

// script returns a change that adds a script to the page.
func script(text string) pageChange {
	return pageChange{"page.py", "</script>", text + "</script>"}
}

// hostPages are hosts in Python whose participant types at their page, each with one change, and what is said of it.
var hostPages = []struct {
	reason string
	change pageChange
	broken string // the clauses found broken; "": none
	says   string // what the report has to say; "": every scenario must pass
	exit   int
}{
	{"as it is", pageChange{}, "", "", verdict.ExitConformant},
	{"Enter sends", pageChange{hostPageProfile, `    send: "#send-line"`, ""}, "", "", verdict.ExitConformant},
	{"elements by their text", pageChange{hostPageProfile, `"#send-line"`, `"text=Send"`}, "", "", verdict.ExitConformant},
	{"an editable element", pageChange{"page.py", fieldInPage,
		`<p id="line" contenteditable style="min-height: 1em">draft</p><script>` +
			`Object.defineProperty(document.querySelector("#line"), "value", {get() { return this.textContent }, ` +
			`set(v) { this.textContent = v }})</script>`}, "", "", verdict.ExitConformant},
	{"the field comes late", script(`const own = line.parentNode; line.remove(); ` +
		`setTimeout(() => own.append(line), 300);`), "", "", verdict.ExitConformant},
	{"dialogs", script(`alert("welcome"); button.addEventListener("click", () => confirm("really?"));`), "", "",
		verdict.ExitConformant},

	{"the host forwards nothing", pageChange{"host.py",
		`sent = self._send("user.message", {"text": text, "stage": stage})`, "sent = True"},
		"EA-009 EA-060", "no such message", verdict.ExitNonConformant},
	{"the host loses characters", pageChange{"host.py", `sent = self._send("user.message", {"text": text, "stage"`,
		`sent = self._send("user.message", {"text": text.replace("é", "e"), "stage"`},
		"EA-061", "what the participant said", verdict.ExitNonConformant},
	{"the page loses characters", pageChange{"page.py", "const text = line.value;",
		`const text = line.value.replace("é", "e");`}, "EA-061", "what the participant said", verdict.ExitNonConformant},
	{"the page sends nothing", pageChange{"page.py", "if (text.trim() === '') return;", "return;"},
		"EA-009 EA-060", "no such message", verdict.ExitNonConformant},

	{"no field", pageChange{"page.py", `id="line"`, `id="text"`}, "",
		`/?session={session}: external-agent.page.input, "#line": there is no such element on the page`,
		verdict.ExitIncomplete},
	{"a hidden field", pageChange{"page.py", `<textarea id="line"`, `<textarea hidden id="line"`}, "",
		`external-agent.page.input, "#line": the element is not visible`, verdict.ExitIncomplete},
	{"nothing to type into", pageChange{"page.py", fieldInPage, `<p id="line">a line</p>`}, "",
		`external-agent.page.input, "#line": nothing can be typed into the input`, verdict.ExitIncomplete},
	{"a field for little", pageChange{"page.py", `<textarea id="line"`, `<textarea maxlength="9" id="line"`}, "",
		`external-agent.page.input, "#line": `, verdict.ExitIncomplete},
	{"no button", pageChange{"page.py", `id="send-line"`, `id="go"`}, "",
		`external-agent.page.send, "#send-line": there is no such element on the page`, verdict.ExitIncomplete},
	{"a button that is never enabled", pageChange{"page.py", "button.disabled = line.value.trim() === '';", ""}, "",
		`external-agent.page.send, "#send-line": the element is disabled`, verdict.ExitIncomplete},
	{"a page that hangs", script(`line.addEventListener("input", () => { for (;;); });`), "",
		"it did not respond to a person within 2s", verdict.ExitIncomplete},
	{"windows without end", script(`line.addEventListener("input", () => ` +
		`{ for (let i = 0; i < 50; i++) window.open("about:blank"); });`), "EA-009 EA-060",
		"the page was ended: it has opened windows without end", verdict.ExitNonConformant},

	{"another path", pageChange{hostPageProfile, "/?session=", "/chat?session="}, "",
		"/chat?session={session}: it cannot be opened (external-agent.page.url): the document has HTTP status 404",
		verdict.ExitUnreachable},
	{"it is never ready", pageChange{hostPageProfile, `    input: "#line"`,
		"    input: \"#line\"\n    ready: \"#online\""}, "",
		`external-agent.page.ready, "#online": there is no such element on the page`, verdict.ExitUnreachable},
}

// TestHostPage judges hosts by what a person types at their page.
func TestHostPage(t *testing.T) {
	t.Parallel()
	tier.Page(t)
	shared := suitetest.Browser(t)
	for i, r := range hostPages {
		t.Run(r.reason, func(t *testing.T) {
			if i > 0 {
				tier.Night(t)
			}
			suitetest.RequireProgram(t, "python3")
			p := hostWith(t, r.change)
			launch.RaiseLimits(&p.Limits)
			if r.says != "" {
				p.Limits.Event.Duration = 2 * time.Second
			}
			res := suitetest.Judge(t, runner.Options{Profile: p, Browser: shared, Tags: "@EA-009 or @EA-060",
				AllowIncomplete: r.says == ""})
			console := suitetest.Console(t, res)
			said := strings.Join(strings.Fields(console), " ")
			broken := strings.Join(suitetest.Broken(res), " ")
			if res.Exit != r.exit || broken != r.broken || !strings.Contains(said, r.says) {
				t.Errorf("exit %d, broken %q, want %d, %q and %q:\n%s", res.Exit, broken, r.exit, r.broken, r.says, console)
			}
			if passed := res.Runs[0].Totals.Scenarios.ByOutcome[verdict.Passed]; r.says == "" && passed != 9 {
				t.Errorf("%d of 9 scenarios passed:\n%s", passed, console)
			}
		})
	}
}

// hostWith returns the profile of a copy of the host with a change.
func hostWith(t *testing.T, c pageChange) *target.Profile {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples/servers/python-host"),
		os.DirFS("examples/servers/python-host")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "examples/profiles", hostPageProfile)
	data, err := os.ReadFile(filepath.Join("examples", "profiles", hostPageProfile))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o700)
	}
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.file != "" {
		changeFile(t, dir, c)
	}
	p, err := protocols.Kinds().Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func changeFile(t *testing.T, dir string, c pageChange) {
	t.Helper()
	name := filepath.Join(dir, "examples/servers/python-host", c.file)
	if c.file == hostPageProfile {
		name = filepath.Join(dir, "examples/profiles", c.file)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(data), c.from) != 1 {
		t.Fatalf("%s does not have once: %s", c.file, c.from)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(data), c.from, c.to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHostPageNeedsBrowser checks that a run without a browser says so, and which key of the profile names one.
func TestHostPageNeedsBrowser(t *testing.T) {
	t.Parallel()
	suitetest.RequireProgram(t, "python3")
	p := hostWith(t, pageChange{})
	binding.Of(p).Page.Browser = "no-such-browser"
	res := suitetest.Judge(t, runner.Options{Profile: p, Tags: "@EA-009"})
	const want = "no-such-browser cannot be started"
	if console := suitetest.Console(t, res); res.Exit != verdict.ExitUnreachable || !strings.Contains(console, want) ||
		!strings.Contains(console, "external-agent.page.browser") {
		t.Errorf("exit %d, want %q:\n%s", res.Exit, want, console)
	}
	if _, err := browser.Find(p.Reach().Browser); err == nil {
		t.Error("the profile's browser is not the one that is looked for")
	}
}
