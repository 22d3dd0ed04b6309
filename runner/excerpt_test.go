package runner

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"parley/features"
	"parley/steps"
	"parley/steps/protocols"
)

const excerptFeature = `# language: en
@toy
Feature: Toys

  Background:
    Given a toy

  @one
  # a comment
  Scenario: first
    Then it is 1

  @two
  @again
  Scenario Outline: second
    Then it is <n>
    Examples:
      | n |
      | 2 |
      | 3 |

  @ruled
  Rule: toys obey

    A sentence about it.

    Scenario: third
      Then it says
        """
        Scenario: none
        """
    Scenario: fourth
      Then it is 4
`

func TestExcerpts(t *testing.T) {
	files := fstest.MapFS{"toy/1_toys.feature": {Data: []byte(excerptFeature)}}
	all := plannedOf(t, files, "toy")
	names := func(list []Planned) (out []string) {
		for _, pl := range list {
			out = append(out, pl.Name+" "+pl.Location)
		}
		return out
	}
	if len(all) != 5 {
		t.Fatalf("scenarios: %v", names(all))
	}
	for mask := range 1 << len(all) {
		var wanted []Planned
		for i, pl := range all {
			if mask>>i&1 == 1 {
				wanted = append(wanted, pl)
			}
		}
		if mask>>1&1 != mask>>2&1 {
			continue // rows of one outline are kept together
		}
		if len(wanted) == 0 {
			continue // a file without any is not read
		}
		got := plannedOf(t, featureExcerpts(files, all, wanted), "toy")
		if diff := cmp.Diff(names(wanted), names(got)); diff != "" {
			t.Errorf("wanted %v (-want +got):\n%s", names(wanted), diff)
		}
	}
}

// plannedOf reads the scenarios of a folder, with their spans.
func plannedOf(t *testing.T, fsys fs.FS, folder string) (out []Planned) {
	t.Helper()
	found, err := parseFeatures(fsys, "", folder+"/1_toys.feature")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		within := scenarioSpans(f.doc.Feature)
		for _, pickle := range f.pickles {
			pl := Planned{Name: pickle.Name, key: pickleKey(pickle), span: within[pickle.AstNodeIds[0]]}
			pl.describePlanned(nil, f.doc, pickle)
			out = append(out, pl)
		}
	}
	return out
}

// Of each real scenario alone, what remains is itself, with its place, tags and steps.
func TestExcerptsOfTheSuites(t *testing.T) {
	for _, p := range protocols.All.All {
		all, err := Scenarios(features.FS, p)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(all); i += 7 {
			only := all[i : i+1]
			found, err := parseFeatures(featureExcerpts(features.FS, all, only), "", only[0].file)
			if err != nil {
				t.Fatalf("%s: %v", only[0].Location, err)
			}
			var keys []string
			for _, f := range found {
				for _, pickle := range f.pickles {
					keys = append(keys, pickleKey(pickle))
				}
			}
			if !slices.Contains(keys, only[0].key) {
				t.Errorf("%s %s is not in its own excerpt", steps.Name(p), only[0].Location)
			}
			for _, pl := range all {
				if pl.file == only[0].file && pl.span != only[0].span &&
					slices.Contains(keys, pl.key) {
					t.Errorf("%s is in the excerpt of %s", pl.Location, only[0].Location)
				}
			}
		}
	}
}

// A file of an unknown span, such as a user's, remains whole.
func TestExcerptsLeaveOwnFeatures(t *testing.T) {
	files := fstest.MapFS{"toy/own.feature": {Data: []byte(excerptFeature)}}
	own := []Planned{{Name: "first", file: "toy/own.feature"}, {Name: "second", file: "toy/own.feature"}}
	b, err := fs.ReadFile(featureExcerpts(files, own, own[:1]), "toy/own.feature")
	if err != nil || string(b) != excerptFeature {
		t.Errorf("changed: %v\n%s", err, b)
	}
}
