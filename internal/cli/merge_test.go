package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reports"
)

// invoke runs a command line, and returns what it prints and its exit code.
func invoke(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	s := &streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	root := rootCommand(s)
	root.SetArgs(args)
	code = s.exitWith(root.ExecuteContext(t.Context()))
	return out.String(), errs.String(), code
}

// resultsIn reads the results in a folder.
func resultsIn(t *testing.T, dir string) *reports.Results {
	t.Helper()
	res, err := readResults(t.Context(), filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// judged is what a run found, without what changes from run to run.
func judged(res *reports.Results) map[string]string {
	out := map[string]string{"verdict": fmt.Sprint(res.Verdict, res.Exit, res.Selection, res.Partial)}
	for _, run := range res.Runs {
		out[run.Protocol] = fmt.Sprint(run.Verdict, run.Totals)
		for i, c := range run.Clauses {
			out[fmt.Sprintf("%03d %s", i, c.ID)] = fmt.Sprint(c.Outcome, c.ByDriver, c.Scenarios, c.Monitors, c.Excluded)
		}
		for i, sc := range run.Scenarios {
			var clauses []string // their reasons have times and names that the harness makes
			for _, c := range sc.Clauses {
				clauses = append(clauses, c.Clause+" "+string(c.Outcome))
			}
			out[fmt.Sprintf("scenario %03d", i)] = fmt.Sprint(sc.ID, sc.Driver, sc.Outcome, clauses)
		}
	}
	return out
}

// TestMerge: the shards of a run, put together, are what a single run finds, of a target that conforms and of one that
// does not, also with a selection and a baseline; none of them alone is conformant.
func TestMerge(t *testing.T) {
	baseline := filepath.Join(t.TempDir(), "known.yaml")
	known := "expected:\n  - {clause: SC-044, reason: known}\n"
	if err := os.WriteFile(baseline, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, fault string
		flags       []string
		whole       []string // flags of the single run and of the merge
		night       bool
	}{
		{name: "conforming", night: true},
		{name: "broken", fault: "no-timestamp"},
		{name: "with a baseline", fault: "no-timestamp", whole: []string{"--baseline", baseline}},
		{name: "a selection", night: true, fault: "no-timestamp", flags: []string{"--tags", "@4.1 or @2"}},
		{name: "incomplete", night: true, flags: []string{"--allow-incomplete"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.night {
				tier.Night(t)
			}
			url, dir := chatServer(t, tt.fault), t.TempDir()
			run := append([]string{"run", url, "--protocol", "session-chat", "-q"}, tt.flags...)
			single := filepath.Join(dir, "single")
			_, _, want := invoke(t, append(append(run, tt.whole...), "--out", single)...)
			merge := append([]string{"merge", "-q", "--out", filepath.Join(dir, "whole")}, tt.whole...)
			for i := 3; i > 0; i-- {
				out := filepath.Join(dir, fmt.Sprint(i))
				text, errs, code := invoke(t, append(run, "--shard", fmt.Sprintf("%d/3", i), "--out", out)...)
				if res := resultsIn(t, out); res.Verdict == verdict.Conformant || !strings.Contains(text, "shard") {
					t.Errorf("shard %d is %s, exit %d:\n%s%s", i, res.Verdict, code, text, errs)
				}
				merge = append(merge, filepath.Join(out, "results.json"))
			}
			text, errs, code := invoke(t, merge...)
			if code != want {
				t.Errorf("exit %d, want %d:\n%s%s", code, want, text, errs)
			}
			a, b := resultsIn(t, single), resultsIn(t, filepath.Join(dir, "whole"))
			if diff := cmp.Diff(judged(a), judged(b)); diff != "" {
				t.Errorf("the shards together are not the single run (-single +merged):\n%s", diff)
			}
			if b.Options.Shards != 3 || b.Shard != nil || b.Runs[0].Judged != nil {
				t.Errorf("of the shards is left: %+v, %v", b.Options, b.Shard)
			}
			for _, sc := range b.Runs[0].Scenarios {
				if sc.Transcript == nil {
					continue
				}
				if _, err := os.Stat(filepath.Join(dir, "whole", sc.Transcript.Path)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestMergeRefuses: what is not one run is not put together, and one line says why.
func TestMergeRefuses(t *testing.T) {
	url, other, dir := chatServer(t, ""), chatServer(t, ""), t.TempDir()
	made := func(name string, flags ...string) string {
		out := filepath.Join(dir, name)
		args := append([]string{"run", "--protocol", "session-chat", "--tags", "@4.2", "-q", "--out", out}, flags...)
		if _, errs, code := invoke(t, args...); code != 5 {
			t.Fatalf("%v: exit %d: %s", args, code, errs)
		}
		return filepath.Join(out, "results.json")
	}
	one, two := made("1", url, "--shard", "1/2"), made("2", url, "--shard", "2/2")
	edited := filepath.Join(dir, "edited.json")
	text, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(edited, bytes.Replace(text, []byte(`"seed": 0`), []byte(`"seed": 1`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(alone, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		files []string
		want  string
	}{
		{nil, "merge: no results given"},
		{[]string{one}, "merge: shard 2/2 is missing (a part says nothing about the whole)"},
		{[]string{one, two, one}, "are both shard 1 of 2 (give each once)"},
		{[]string{one, made("whole", url)}, "is not a shard (parley run --shard 1/2 makes one)"},
		{[]string{one, made("thirds", url, "--shard", "2/3")}, "is a shard of 2, and"},
		{[]string{one, made("other", other, "--shard", "2/2")}, "are not of one run: they differ in their targets: "},
		{[]string{one, made("selection", url, "--shard", "2/2", "--tags", "@1")}, "they differ in what was selected"},
		{[]string{one, made("strict", url, "--shard", "2/2", "--strict")}, "they differ in --strict"},
		{[]string{one, made("seed", url, "--shard", "2/2", "--seed", "7")}, "they differ in --seed"},
		{[]string{one, edited}, "edited.json: the file was edited after it was written"},
		{[]string{one, alone}, "results.json (keep the whole folder of a shard)"},
		{[]string{one, filepath.Join(dir, "none.json")}, "no such file or directory"},
		{[]string{"--out", filepath.Dir(one), one, two}, "lies there, and would be overwritten (name another folder)"},
	} {
		args := append([]string{"merge", "--out", filepath.Join(dir, "refused")}, tt.files...)
		if _, errs, code := invoke(t, args...); code != 2 || !strings.Contains(errs, tt.want) {
			t.Errorf("%v: exit %d: %s, want %s", tt.files, code, errs, tt.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "refused", "results.json")); err == nil {
			t.Errorf("%v: results were written", tt.files)
		}
	}
	// the twin
	if _, errs, code := invoke(t, "merge", "--out", filepath.Join(dir, "refused"), one, two); code != 5 {
		t.Errorf("what belongs together: exit %d: %s", code, errs)
	}
}

// TestFailFast: after the first failed clause no scenario begins; the results say what was not run, and why.
func TestFailFast(t *testing.T) {
	url, dir := chatServer(t, "no-timestamp"), t.TempDir()
	text, errs, code := invoke(t, "run", url, "--protocol", "session-chat", "--fail-fast", "--concurrency", "1", "--out",
		dir)
	const said = "only what came before the first failure (--fail-fast) was run"
	if code != 1 || !strings.Contains(strings.Join(strings.Fields(text), " "), said) {
		t.Errorf("exit %d: %s%s", code, text, errs)
	}
	res := resultsIn(t, dir)
	unrun, ran := 0, 0
	for _, sc := range res.Runs[0].Scenarios {
		if strings.HasPrefix(sc.Reason, "not run: --fail-fast ended the run when SC-") {
			unrun++
		} else {
			ran++
		}
	}
	if res.Verdict != verdict.NonConformant || unrun < 100 || ran == 0 || ran > 10 {
		t.Errorf("%s: %d ran, %d did not", res.Verdict, ran, unrun)
	}
	// a failure that is known does not end the run, and without a failure nothing does
	known := filepath.Join(dir, "known.yaml")
	if err := os.WriteFile(known, []byte("expected:\n  - {clause: SC-044, reason: known}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for url, flags := range map[string][]string{url: {"--baseline", known}, chatServer(t, ""): nil} {
		args := append([]string{"run", url, "--protocol", "session-chat", "--fail-fast", "--out", dir}, flags...)
		if text, _, _ := invoke(t, args...); strings.Contains(text, "--fail-fast") {
			t.Errorf("%v: %s", flags, text)
		}
	}
}

// TestQuiet: only the verdict, and failures if there are any.
func TestQuiet(t *testing.T) {
	run := func(fault string) (string, string, int) {
		return invoke(t, "run", chatServer(t, fault), "--protocol", "session-chat", "-q", "--tags", "@SC-044", "--out",
			filepath.Join(t.TempDir(), "out"))
	}
	text, errs, code := run("")
	if code != 5 || errs != "" || !strings.HasPrefix(text, "INCOMPLETE  ") || strings.Contains(text, "level") {
		t.Errorf("exit %d: %q, %q", code, text, errs)
	}
	text, errs, code = run("no-timestamp")
	if code != 1 || errs != "" || !strings.Contains(text, "Failures: ") || !strings.Contains(text, "SC-044") ||
		!strings.Contains(text, "\nNON-CONFORMANT  ") || strings.Contains(text, "not tested: ") ||
		strings.Contains(text, "section ") {
		t.Errorf("exit %d: %s%s", code, text, errs)
	}
	if _, errs, code := invoke(t, "run", "-q", "-v"); code != 2 || !strings.Contains(errs, "--quiet: --verbose asks for") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestShardMistakes: one line says what a shard is, and what cannot be divided.
func TestShardMistakes(t *testing.T) {
	for flags, want := range map[string]string{
		"--shard 0/2": `--shard: "0/2" is not a shard (write it like 2/4, the second of four)`,
		"--shard 3/2": "is not a shard", "--shard x": "is not a shard", "--shard 1/2/3": "is not a shard",
		"--shard 1/2 --explore 5":              "--shard: a shard is a part of the suite: random sequences",
		"--shard 1/2 --cut-points":             "--shard: a shard is a part of the suite: random sequences and cut points",
		"--shard 1/2 --baseline known.yaml":    "a baseline is about the whole: give it to the merge",
		"--differential --shard 1/2 bundled x": "--differential: --shard applies to one target",
		"--differential --fail-fast bundled x": "--differential: --fail-fast applies to one target",
		"--shard 1/2 --features f.feature":     "scenarios of your own are not divided",
		"--shard 1/2 --faults f.yaml":          "a run with injected faults is not divided",
		"--shard 1/2 --tags @none":             "selects no scenario",
	} {
		dir := t.TempDir()
		t.Chdir(dir)
		for name, text := range map[string]string{"known.yaml": "expected: []\n", "f.yaml": "faults: []\n",
			"f.feature": "Feature: f\n  Scenario: s\n    Given client A is connected\n"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := append([]string{"run", "--protocol", "session-chat"}, strings.Fields(flags)...)
		if _, errs, code := invoke(t, args...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s, want %s", flags, code, errs, want)
		}
	}
}
