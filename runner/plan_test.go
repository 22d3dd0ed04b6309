package runner

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/features"
	"parley/runner/tags"
	"parley/steps"
	"parley/steps/protocols"
)

// files are two feature files of a protocol with everything that affects a plan.
var files = fstest.MapFS{
	"agent-select/3.1_connection.feature": {Data: []byte(`@server @connect
Feature: 3.1 Connecting

  @preflight-1 @interop @AS-008
  Scenario: the first
    When nothing

  Rule: what holds
    @sse @AS-029 @AS-029a
    Scenario: over one transport
      When nothing

    @AS-030
    Scenario Outline: of each <who>
      When nothing

      Examples:
        | who |
        | A   |
      @AS-031 @two-clients
      Examples:
        | who |
        | B   |
`)},
	"agent-select/3.10_other.feature": {Data: []byte(`Feature: 3.10 Other
  @ws @exclusive @AS-040
  Scenario: alone
    When nothing

  @preflight-2 @not-a-clause @AS-x
  Scenario: a session
    When nothing

  @preflight-3 @interop
  Scenario: a switch
    When nothing
`)},
}

func plan(t *testing.T, fsys fs.FS) []Planned {
	t.Helper()
	all, err := Scenarios(fsys, protocols.Get("agent-select"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestScenarios(t *testing.T) {
	got := plan(t, files)
	connect := func(own ...string) []string { return append([]string{"@server", "@connect"}, own...) }
	const first, other = "features/agent-select/3.1_connection.feature:", "features/agent-select/3.10_other.feature:"
	want := []Planned{
		{ID: "AS-3.1-01", Name: "the first", Feature: "3.1 Connecting", Location: first + "5",
			Tags: connect("@preflight-1", "@interop", "@AS-008"), Clauses: []string{"AS-008"}, Stage: 1},
		{ID: "AS-3.1-02", Name: "over one transport", Feature: "3.1 Connecting", Rule: "what holds", Location: first + "10",
			Tags: connect("@sse", "@AS-029", "@AS-029a"), Clauses: []string{"AS-029", "AS-029a"}},
		{ID: "AS-3.1-03", Name: "of each A", Feature: "3.1 Connecting", Rule: "what holds", Location: first + "19",
			Tags: connect("@AS-030"), Clauses: []string{"AS-030"}},
		{ID: "AS-3.1-04", Name: "of each B", Feature: "3.1 Connecting", Rule: "what holds", Location: first + "23",
			Tags: connect("@AS-030", "@AS-031", "@two-clients"), Clauses: []string{"AS-030", "AS-031"}},
		{ID: "AS-3.10-01", Name: "alone", Feature: "3.10 Other", Location: other + "3",
			Tags: []string{"@ws", "@exclusive", "@AS-040"}, Clauses: []string{"AS-040"}},
		{ID: "AS-3.10-02", Name: "a session", Feature: "3.10 Other", Location: other + "7",
			Tags: []string{"@preflight-2", "@not-a-clause", "@AS-x"}, Stage: 2},
		{ID: "AS-3.10-03", Name: "a switch", Feature: "3.10 Other", Location: other + "11",
			Tags: []string{"@preflight-3", "@interop"}, Stage: 3},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Planned{}), cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b Planned) bool { return a.ID < b.ID })); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	for at, want := range map[int]string{0: "", 1: first + "15", 2: ""} {
		if p := got[slices.IndexFunc(got, func(p Planned) bool { return p.ID == "AS-3.1-03" })]; p.stepPlace(at) != want {
			t.Errorf("step %d of %s is at %q, want %q", at, p.ID, p.stepPlace(at), want)
		}
	}
	needs := map[string]steps.Reach{"AS-3.1-01": steps.Nothing, "AS-3.1-02": steps.Opened, "AS-3.1-03": steps.Opened,
		"AS-3.1-04":  steps.Opened,
		"AS-3.10-01": steps.Answered, "AS-3.10-02": steps.Greeted, "AS-3.10-03": steps.Given}
	for _, p := range got {
		if p.Needs() != needs[p.ID] {
			t.Errorf("%s needs %d, want %d", p.ID, p.Needs(), needs[p.ID])
		}
		if p.Exclusive() != (p.ID == "AS-3.10-01") {
			t.Errorf("%s is exclusive: %v", p.ID, p.Exclusive())
		}
	}
}

// TestGivenIDs: a tag gives a scenario its id, and the first row of its Examples, wherever it is in its file; one
// without is numbered by its place. The tag is none of the scenario's own, and does not change its key.
func TestGivenIDs(t *testing.T) {
	const bare = "Feature: f\n  @t\n  Scenario: s\n    When a\n"
	const text = "Feature: f\n  @t @AS-1-07\n  Scenario: s\n    When a\n  Scenario: t\n    When a\n" +
		"  @AS-1-03\n  Scenario Outline: u\n    When <a>\n    Examples:\n      | a |\n      | b |\n      | c |\n"
	read := func(text string) []Planned {
		return plan(t, fstest.MapFS{"agent-select/1_x.feature": {Data: []byte(text)}})
	}
	var ids []string
	for _, pl := range read(text) {
		ids = append(ids, pl.ID)
	}
	if want := []string{"AS-1-07", "AS-1-02", "AS-1-03", "AS-1-04"}; !slices.Equal(ids, want) {
		t.Errorf("the ids are %v, want %v", ids, want)
	}
	if a, b := read(bare)[0], read(text)[0]; a.key != b.key || !slices.Equal(a.Tags, b.Tags) {
		t.Errorf("with a tag it is %+v, without %+v", b, a)
	}
}

func TestScenariosThatCannotBeRead(t *testing.T) {
	for reason, fsys := range map[string]fs.FS{
		"no folder":  fstest.MapFS{},
		"no Gherkin": fstest.MapFS{"agent-select/1_x.feature": {Data: []byte("Scenario without a feature")}},
		"said twice": fstest.MapFS{"agent-select/1_x.feature": {Data: []byte("Feature: f\n  Scenario: s\n    When " +
			"a\n\n  Scenario: s\n    When a\n")}},
		"one id twice": fstest.MapFS{"agent-select/1_x.feature": {Data: []byte("Feature: f\n  Scenario: s\n    When " +
			"a\n\n  @AS-1-01\n  Scenario: t\n    When b\n")}},
		"a cut outline": fstest.MapFS{"agent-select/1_x.feature": {Data: []byte("Feature: f\n  Scenario Outline: s\n    " +
			"When <a>\n    Examples:\n      | a |\n      | 1 | 2 |\n")}},
	} {
		if all, err := Scenarios(fsys, protocols.Get("agent-select")); err == nil {
			t.Errorf("%s: %d scenarios were read", reason, len(all))
		}
	}
}

// TestKeyOfAScenario: the key of a scenario does not depend on what else is read, and scenarios that differ in
// anything have different keys.
func TestKeyOfAScenario(t *testing.T) {
	const text = "Feature: f\n%s\n  Scenario: s\n    When a\n%s"
	known := map[string]string{}
	for _, tail := range []string{"", "    Then b\n", "      | c |\n", "      | c |\n      | c |\n", "      | c | c |\n",
		"      \"\"\"\n      c\n      \"\"\"\n"} {
		for _, tag := range []string{"", "  @t"} {
			file := fmt.Sprintf(text, tag, tail)
			keyIn := func(others string) string {
				all, err := Scenarios(fstest.MapFS{"agent-select/1_a.feature": {Data: []byte("Feature: before\n" + others)},
					"agent-select/2_x.feature": {Data: []byte(file)}}, protocols.Get("agent-select"))
				if err != nil {
					t.Fatal(err)
				}
				return all[len(all)-1].key
			}
			key := keyIn("")
			if other := keyIn("  Scenario: another\n    When a\n"); other != key {
				t.Errorf("%q beside %q", other, key)
			}
			if twin, twice := known[key]; twice {
				t.Errorf("one key of\n%s\nand\n%s", twin, file)
			}
			known[key] = file
		}
	}
}

// TestPlanOfTheFeatures: every id is unique and stable, and every location is that of its scenario.
func TestPlanOfTheFeatures(t *testing.T) {
	for _, protocol := range features.Protocols() {
		all, err := Scenarios(features.FS, protocols.Get(protocol))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Scenarios(features.FS, protocols.Get(protocol))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all, again, cmp.AllowUnexported(Planned{}, span{}, writtenStep{})); diff != "" {
			t.Errorf("another reading gives another plan:\n%s", diff)
		}
		ids, keys, stages := map[string]bool{}, map[string]bool{}, map[int]int{}
		form := regexp.MustCompile(`\A[A-Z]{2}-\d+[A-Z]?(\.\d+)*-\d{2,}\z`)
		for _, p := range all {
			if ids[p.ID] || keys[p.key] || !form.MatchString(p.ID) {
				t.Errorf("%s (%s) is no id, or not the only one", p.ID, p.Location)
			}
			ids[p.ID], keys[p.key] = true, true
			stages[p.Stage]++
			if at := lineOf(t, p.Location); !strings.HasPrefix(at, "Scenario") && !strings.HasPrefix(at, "|") {
				t.Errorf("%s: at %s stands %q", p.ID, p.Location, at)
			}
			if p.hasTag("@sse") && p.hasTag("@ws") {
				t.Errorf("%s runs over no driver", p.ID)
			}
		}
		for stage := 1; stage <= 3; stage++ {
			if stages[stage] == 0 {
				t.Errorf("%s: no scenario is preflight stage %d", protocol, stage)
			}
		}
	}
}

// lineOf returns the line at a location.
func lineOf(t *testing.T, location string) string {
	t.Helper()
	file, n, _ := strings.Cut(strings.TrimPrefix(location, "features/"), ":")
	b, err := fs.ReadFile(features.FS, file)
	if err != nil {
		t.Fatal(err)
	}
	line, err := strconv.Atoi(n)
	lines := strings.Split(string(b), "\n")
	if err != nil || line < 1 || line > len(lines) {
		t.Fatalf("%s is no location", location)
	}
	return strings.TrimSpace(lines[line-1])
}

// TestIDsStay: scenarios added at the end of a file, or in a new file, do not change other ids.
func TestIDsStay(t *testing.T) {
	more := fstest.MapFS{}
	for name, f := range files {
		more[name] = &fstest.MapFile{Data: append(append([]byte{}, f.Data...),
			"\n  Scenario: one more\n    When nothing\n"...)}
	}
	more["agent-select/2.1_more.feature"] = &fstest.MapFile{Data: []byte("Feature: 2.1 More\n  Scenario: one more\n  " +
		"  When nothing\n")}
	now := map[string]string{}
	for _, p := range plan(t, more) {
		now[p.ID] = p.Name
	}
	for _, p := range plan(t, files) {
		if now[p.ID] != p.Name {
			t.Errorf("%s was %q, and is %q", p.ID, p.Name, now[p.ID])
		}
	}
	if len(now) != len(plan(t, files))+3 {
		t.Errorf("there are %d scenarios now", len(now))
	}
}

func ids(all []Planned) []string {
	var out []string
	for _, p := range all {
		out = append(out, strings.TrimPrefix(p.ID, "AS-"))
	}
	return out
}

var inAnyOrder = cmpopts.SortSlices(func(a, b string) bool { return a < b })

func TestForDriver(t *testing.T) {
	rows := []struct {
		reason, driver, tags string
		want                 []string
	}{
		{"all but WebSocket scenarios", "sse", "", []string{"3.1-01", "3.1-02", "3.1-03", "3.1-04", "3.10-02", "3.10-03"}},
		{"all but stream scenarios", "ws", "", []string{"3.1-01", "3.1-03", "3.1-04", "3.10-01", "3.10-02", "3.10-03"}},
		{"the interop driver runs preflight and interop scenarios", "r3labs", "", []string{"3.1-01", "3.10-02", "3.10-03"}},
		{"a selection, and preflight", "sse", "@AS-031", []string{"3.1-01", "3.1-04", "3.10-02", "3.10-03"}},
		{"an empty selection leaves preflight", "sse", "@AS-040", []string{"3.1-01", "3.10-02", "3.10-03"}},
		{"a selection by exclusion", "ws", "not @connect and not @AS-008",
			[]string{"3.1-01", "3.10-01", "3.10-02", "3.10-03"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			sel, err := tags.Parse(r.tags)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, ids(forDriver(plan(t, files), r.driver, sel, false)), inAnyOrder); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestKeep: godog's own selection keeps ids, and preflight.
func TestKeep(t *testing.T) {
	rows := []struct {
		reason string
		g      GodogOptions
		want   []string
	}{
		{"no selection", GodogOptions{}, []string{"3.1-01", "3.1-02", "3.1-03", "3.1-04", "3.10-01", "3.10-02", "3.10-03"}},
		{"by godog's tags", GodogOptions{Tags: "@AS-030 && ~@AS-031"}, []string{"3.1-01", "3.1-03", "3.10-02", "3.10-03"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			got, err := keepSelected(plan(t, files), files, protocols.Get("agent-select"), r.g)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, ids(got), inAnyOrder); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
	if _, err := keepSelected(plan(t, files), files, protocols.Get("agent-select"),
		GodogOptions{Paths: []string{"agent-select/none.feature"}}); err == nil {
		t.Error("a file that is not there was selected")
	}
}

func TestPrefixes(t *testing.T) {
	for _, p := range features.Protocols() {
		if protocols.Get(p).Kind().Prefix == "" {
			t.Errorf("%s has no prefix", p)
		}
	}
	if _, err := protocols.All.Find("no-such-protocol"); err == nil ||
		fmt.Sprintf("%T", err) != "*steps.UnknownProtocolError" {
		t.Errorf("Protocol: %v", err)
	}
}
