package odd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/agentclient"
	"parley/reference-server/agentclient/bundle"
	"parley/reference-server/agentclient/mutants"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps/agentclient/binding"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

// oddPages differ from the bundled page in ways that no document covers.
var oddPages = []struct {
	name    string
	tags    string
	patches []mutants.Patch
}{
	{name: "lets a user abort from the echo on", tags: "@AC-079", patches: slices.Concat(unaware, []mutants.Patch{
		{File: "app.js", Old: streamed, New: "  if (event.data.role === \"user\") setRunning(true);\n"}})},
	{name: "lets a user abort from the first piece on", tags: "@AC-079", patches: unaware},
	{name: "takes a whole message for the end", tags: "@AC-079", patches: slices.Concat(unaware, []mutants.Patch{
		{File: "app.js", Old: streamed,
			New: "  if (event.data.role !== \"user\") setRunning(event.data.streaming === true);\n"}})},
	{name: "is slow to show what it has asked", tags: "@AC-062", patches: []mutants.Patch{
		{File: "app.js", Old: "  log.add(\"sent\", ",
			New: "  await new Promise((then) => setTimeout(then));\n  log.add(\"sent\", "}}},
	{name: "draws late that the selector is disabled", tags: "@AC-017 or @AC-034", patches: []mutants.Patch{
		{File: "agents.js", Old: usable, New: "    const off = !listed || agents.length === 0 || switching !== null;\n" +
			"    setTimeout(() => { select.disabled = off; }, 100);\n"}}},
	{name: "comes back late, and stumbles over a connect before", tags: "@AC-109 or @AC-111", patches: []mutants.Patch{
		{File: "connection.js", Old: "Math.min(longestDelay, firstDelay * 2 ** failures)", New: "600"},
		{File: "connection.js", Old: "  function dial() {\n    clearTimeout(timer);\n", New: "  function dial() {\n"},
		{File: "connection.js", Old: "    drop();\n    base = address;\n", New: "    base = address;\n"}}},
	{name: "has a placeholder, which cannot be chosen", tags: "@AC-098 or @AC-103", patches: []mutants.Patch{
		{File: "agents.js", Old: "    select.replaceChildren(...options());\n",
			New: "    const ask = note(\"请选择主代理\")[0];\n" +
				"    ask.hidden = true;\n    select.replaceChildren(ask, ...options());\n"}}},
	{name: "shows prompts for a moment", tags: "@AC-073 or @AC-075", patches: []mutants.Patch{
		{File: "prompts.js", Old: "    box.append(prompt);\n",
			New: "    box.append(prompt);\n    setTimeout(() => prompt.remove(), 700);\n"}}},
	{name: "keeps prompts, and none twice", tags: "@AC-044 or @AC-073", patches: []mutants.Patch{
		{File: "prompts.js", Old: "textContent === text) old.remove();\n", New: "textContent === text) return;\n"},
		{File: "prompts.js", Old: "  function clear(topic) {\n",
			New: "  function clear(topic) {\n    if (topic === \"agent\") return;\n"}}},
	{name: "marks a selector that is disabled for whatever reason", tags: "@AC-035", patches: []mutants.Patch{
		{File: "agents.js", Old: "    select.classList.toggle(\"loading\", switching !== null);\n",
			New: "    select.classList.toggle(\"is-disabled\", select.disabled);\n" +
				"    select.classList.toggle(\"loading\", switching !== null);\n"}}},
	{name: "reconnects beside its browser, and closes the other stream", tags: "@AC-060", patches: []mutants.Patch{
		{File: "connection.js", Old: "    drop();\n    failures = performance.now()",
			New: "    requests?.abort();\n    failures = performance.now()"},
		{File: "connection.js", Old: "    requests = new AbortController();\n    source =",
			New: "    requests = new AbortController();\n    source?.close();\n    source ="},
		{File: "connection.js", Old: "timer = setTimeout(dial, Math.min(longestDelay, firstDelay * 2 ** failures));",
			New: "clearTimeout(timer);\n    timer = setTimeout(dial, 1_500);"}}},
}

const usable = "    select.disabled = !listed || agents.length === 0 || switching !== null;\n"

const streamed = "  if (event.data.streaming) setRunning(true);\n"

// unaware does not assume that a turn has begun because a message was sent, or a switch refused.
var unaware = []mutants.Patch{
	{File: "app.js", Old: "  const before = running;\n  setRunning(true);\n", New: "  const before = running;\n"},
	{File: "app.js", Old: "    setRunning(true);\n    options.action", New: "    options.action"},
}

// TestOddPages checks that a page does not fail because of how it detects that a turn runs, or because of other free
// choices.
func TestOddPages(t *testing.T) {
	t.Parallel()
	tier.Page(t)
	shared := suitetest.Browser(t)
	for i, odd := range oddPages {
		t.Run(odd.name, func(t *testing.T) {
			if i > 0 {
				tier.Night(t)
			}
			p := protocols.Kinds().New("agent-client")
			launch.RaiseLimits(&p.Limits)
			launcher := bundle.Launcher(mutants.Mutant{ID: odd.name, Patches: odd.patches}.Patch)
			res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: launcher, Browser: shared,
				Tags: odd.tags, AllowIncomplete: true})
			if res.Exit != verdict.ExitConformant {
				t.Errorf("exit %d\n%s", res.Exit, suitetest.Console(t, res))
			}
		})
	}
}

// TestPageNotes checks what a run notes of a page, each once: texts of the server that it executes, blocked requests
// and exceptions. None of them breaks a clause.
func TestPageNotes(t *testing.T) {
	t.Parallel()
	tier.Page(t)
	patches := []mutants.Patch{
		{File: "app.js", Old: "", New: "const far = document.createElement(\"script\");\n" +
			"far.src = \"https://cdn.example/marked.js\";\ndocument.head.append(far);\n" +
			"setTimeout(() => { throw new Error(`no library ${Math.random()}`); });\n"},
		{File: "log.js", Old: "      make(\"b\", type),\n", New: "      make(\"b\"),\n"},
		{File: "log.js", Old: "    row.append(head);\n",
			New: "    head.querySelector(\"b\").innerHTML = type;\n    row.append(head);\n"},
		{File: "chat.js", Old: "      else if (text) open.textContent = text;\n",
			New: "      else if (text) open.innerHTML = text.replace(/\\*\\*(.*?)\\*\\*/g, \"<b>$1</b>\");\n"},
	}
	folder := t.TempDir() // from a folder, the page has no content security policy
	for name, body := range agentclient.Files() {
		body = mutants.Mutant{ID: "notes", Patches: patches}.Patch(name, body)
		if err := os.WriteFile(filepath.Join(folder, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := protocols.Kinds().New("agent-client")
	binding.Of(p).Folder = folder
	launch.RaiseLimits(&p.Limits)
	res := suitetest.Judge(t, runner.Options{Profile: p, Browser: suitetest.Browser(t), Tags: "@AC-018",
		AllowIncomplete: true})
	if res.Exit != verdict.ExitConformant {
		t.Errorf("exit %d\n%s", res.Exit, suitetest.Console(t, res))
	}
	for _, want := range []string{"a script in an event's type ran", "a script in a message of the assistant ran",
		"which was blocked: GET https://cdn.example/marked.js", "an exception in the page: Uncaught Error: no library"} {
		n := 0
		for _, note := range res.Runs[0].Notes {
			n += strings.Count(note.Text, want)
		}
		if n != 1 {
			t.Errorf("%d notes of %q\n%s", n, want, suitetest.Console(t, res))
		}
	}
}

// TestBlame checks that for a page with one fault that shows in many places, only the clauses of that fault fail.
func TestBlame(t *testing.T) {
	tier.Night(t)
	t.Parallel()
	tier.Page(t)
	shared := suitetest.Browser(t)
	for _, r := range []struct{ mutant, tags, want string }{
		{"no-rollback", "@AC-038 or @AC-058 or @AC-059 or @AC-079 or @AC-085", "AC-038"},
		{"usable-while-switching", "@AC-017 or @AC-034 or @AC-105", "AC-034 AC-046"},
	} {
		t.Run(r.mutant, func(t *testing.T) {
			all := mutants.All()
			i := slices.IndexFunc(all, func(m mutants.Mutant) bool { return m.ID == r.mutant })
			p := protocols.Kinds().New("agent-client")
			launch.RaiseLimits(&p.Limits)
			res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: bundle.Launcher(all[i].Patch), Browser: shared,
				Tags: r.tags, AllowIncomplete: true})
			var failed []string
			for _, c := range res.Runs[0].Clauses {
				if c.Outcome == verdict.Failed {
					failed = append(failed, c.ID)
				}
			}
			if got := strings.Join(failed, " "); got != r.want {
				t.Errorf("%s failed, want %s\n%s", got, r.want, suitetest.Console(t, res))
			}
		})
	}
}
