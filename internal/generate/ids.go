package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	gherkin "github.com/cucumber/gherkin/go/v26"
	messages "github.com/cucumber/messages/go/v21"

	"parley/steps/protocols"
)

// widest is how many columns a line of a feature may have.
const widest = 120

// writeIDs gives each scenario that has none a tag with its id, so that a scenario before it moves none.
func writeIDs(context.Context) error {
	files, err := filepath.Glob("features/*/*.feature")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := numberScenarios(file, prefixOf(file)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	fmt.Println("each scenario has its id")
	return nil
}

// prefixOf returns what the tags of a file's scenarios begin with, such as "@SC-4.2-".
func prefixOf(file string) string {
	prefix := "?"
	if p, err := protocols.All.Find(filepath.Base(filepath.Dir(file))); err == nil {
		prefix = p.Kind().Prefix
	}
	section, _, _ := strings.Cut(filepath.Base(file), "_")
	return fmt.Sprintf("@%s-%s-", prefix, section)
}

// numberScenarios gives the scenarios of a file that have none the numbers behind those that are taken.
func numberScenarios(file, prefix string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	doc, err := gherkin.ParseGherkinDocument(bytes.NewReader(text), (&messages.Incrementing{}).NewId)
	if err != nil {
		return err
	}
	last := 0
	var without []*messages.Scenario
	for _, s := range scenariosOf(doc.Feature) {
		if n := numberOf(s, prefix); n > 0 {
			last = max(last, n+rowsOf(s)-1)
		} else {
			without = append(without, s)
		}
	}
	lines := strings.Split(string(text), "\n")
	tags := map[int]string{} // by the line of the scenario
	for _, s := range without {
		tags[int(s.Location.Line)] = fmt.Sprintf("%s%02d", prefix, last+1)
		last += rowsOf(s)
	}
	for _, s := range slices.Backward(without) {
		lines = withTag(lines, s, tags[int(s.Location.Line)])
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644)
}

// withTag adds a tag to a scenario: to the last line of its tags if there is room, else in a line of its own.
func withTag(lines []string, s *messages.Scenario, tag string) []string {
	at := int(s.Location.Line) - 1
	if len(s.Tags) > 0 {
		line := int(s.Tags[len(s.Tags)-1].Location.Line) - 1
		if long := lines[line] + " " + tag; len(long) <= widest {
			lines[line] = long
			return lines
		}
		at = line + 1
	}
	return slices.Insert(lines, at, strings.Repeat(" ", int(s.Location.Column)-1)+tag)
}

func scenariosOf(f *messages.Feature) (all []*messages.Scenario) {
	for _, c := range f.Children {
		if c.Scenario != nil {
			all = append(all, c.Scenario)
		}
		if c.Rule == nil {
			continue
		}
		for _, r := range c.Rule.Children {
			if r.Scenario != nil {
				all = append(all, r.Scenario)
			}
		}
	}
	return all
}

// numberOf returns the number of a scenario's id; 0 if it has none.
func numberOf(s *messages.Scenario, prefix string) int {
	for _, t := range s.Tags {
		if digits, ok := strings.CutPrefix(t.Name, prefix); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				return n
			}
		}
	}
	return 0
}

// rowsOf returns how many scenarios a scenario is: the rows of its Examples, or one.
func rowsOf(s *messages.Scenario) int {
	n := 0
	for _, e := range s.Examples {
		n += len(e.TableBody)
	}
	return max(n, 1)
}
