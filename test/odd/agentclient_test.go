package odd_test

import (
	"slices"
	"strings"
	"testing"

	"parley/reference-server/agentclient/bundle"
	"parley/reference-server/agentclient/mutants"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
	"parley/verdict"
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
	shared := suitetest.Browser(t)
	for _, odd := range suitetest.Some(oddPages, 1) {
		t.Run(odd.name, func(t *testing.T) {
			suitetest.InBrowser(t)
			p := protocols.Kinds().New("agent-client")
			launch.Unhurry(&p.Limits)
			launcher := bundle.Launcher(mutants.Mutant{ID: odd.name, Patches: odd.patches}.Patch)
			res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: launcher, Browser: shared,
				Tags: odd.tags, AllowIncomplete: true})
			if res.Exit != verdict.ExitConformant {
				t.Errorf("exit %d\n%s", res.Exit, suitetest.Console(t, res))
			}
		})
	}
}

// TestBlame checks that for a page with one fault that shows in many places, only the clauses of that fault fail.
func TestBlame(t *testing.T) {
	t.Parallel()
	shared := suitetest.Browser(t)
	for _, r := range suitetest.Some([]struct{ mutant, tags, want string }{
		{"no-rollback", "@AC-038 or @AC-058 or @AC-059 or @AC-079 or @AC-085", "AC-038"},
		{"usable-while-switching", "@AC-017 or @AC-034 or @AC-105", "AC-034 AC-046"},
	}, 1) {
		t.Run(r.mutant, func(t *testing.T) {
			suitetest.InBrowser(t)
			all := mutants.All()
			i := slices.IndexFunc(all, func(m mutants.Mutant) bool { return m.ID == r.mutant })
			p := protocols.Kinds().New("agent-client")
			launch.Unhurry(&p.Limits)
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
