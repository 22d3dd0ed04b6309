package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	gherkin "github.com/cucumber/gherkin/go/v26"
	messages "github.com/cucumber/messages/go/v21"
)

// TestIDs: each scenario of the suite has a tag with its id.
func TestIDs(t *testing.T) {
	files, err := filepath.Glob("../../features/*/*.feature")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := gherkin.ParseGherkinDocument(bytes.NewReader(text), (&messages.Incrementing{}).NewId)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scenariosOf(doc.Feature) {
			if numberOf(s, prefixOf(file)) == 0 {
				t.Errorf("%s:%d has no tag with its id: make generate", file, s.Location.Line)
			}
		}
	}
}

// TestNumberScenarios: a scenario without a number gets one behind those that are taken, with the rows of Examples; a
// line of tags does not become too long.
func TestNumberScenarios(t *testing.T) {
	const before = `Feature: 1
  Rule: a rule
    Scenario: new
      Given a

    @SC-001 @SC-1-01
    Scenario Outline: rows
      Given <a>
      Examples:
        | a |
        | b |
        | c |

  @a0123456789 @b0123456789 @c0123456789 @d0123456789 @e0123456789 @f0123456789 @g0123456789 @h0123456789 @i01234
  Scenario: long
    Given b
`
	const after = `Feature: 1
  Rule: a rule
    @SC-1-03
    Scenario: new
      Given a

    @SC-001 @SC-1-01
    Scenario Outline: rows
      Given <a>
      Examples:
        | a |
        | b |
        | c |

  @a0123456789 @b0123456789 @c0123456789 @d0123456789 @e0123456789 @f0123456789 @g0123456789 @h0123456789 @i01234
  @SC-1-04
  Scenario: long
    Given b
`
	file := filepath.Join(t.TempDir(), "1_x.feature")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := numberScenarios(file, "@SC-1-"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != after {
			t.Fatalf("it is\n%s\nwant\n%s%v", got, after, err)
		}
	}
}
