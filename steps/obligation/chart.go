package obligation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Chart describes a model for people: the life cycles that it follows, and what a party owes on which message.
type Chart struct {
	Party    string    // who owes
	Machines []Machine // life cycles
	Duties   []Duty    // sorted by On, then by Owes
}

// With returns the chart with the duties in a file duties.yaml.
func (c Chart) With(duties []byte) (Chart, error) {
	if err := yaml.Unmarshal(duties, &c.Duties); err != nil {
		return c, fmt.Errorf("duties.yaml: %w", err)
	}
	return c, nil
}

// Machine is a life cycle.
type Machine struct {
	Name  string
	Moves []Move
}

// Move is a step of a life cycle. From "" is its beginning, To "" its end.
type Move struct {
	From, To, On string
	Clauses      []string
}

// Duty is an obligation: on which message, what is owed, and the clauses that this may keep or break.
type Duty struct {
	On      string   `json:"on" yaml:"on"`
	Owes    string   `json:"owes" yaml:"owes"`
	Clauses []string `json:"clauses" yaml:"clauses,flow"`
}

// Coverage counts what happened to an obligation.
type Coverage struct {
	Owed    int `json:"owed"`    // it arose
	Settled int `json:"settled"` // and what was owed came
	Missing int `json:"missing"` // and it did not come by the time that it was due
}

// Mermaid draws a chart: a state diagram for each life cycle, and a graph from messages to what is owed because of
// them.
func (c Chart) Mermaid() string {
	var out strings.Builder
	for _, m := range c.Machines {
		fmt.Fprintf(&out, "%%%% %s\nstateDiagram-v2\n", m.Name)
		for _, move := range m.Moves {
			fmt.Fprintf(&out, "  %s --> %s: %s\n", cmp.Or(move.From, "[*]"), cmp.Or(move.To, "[*]"),
				labelled(move.On, move.Clauses))
		}
		out.WriteByte('\n')
	}
	if len(c.Duties) == 0 {
		return out.String()
	}
	fmt.Fprintf(&out, "%%%% What the %s owes\ngraph LR\n", c.Party)
	ids := map[string]string{}
	node := func(side, name string) string {
		key := side + name
		if ids[key] == "" {
			ids[key] = fmt.Sprintf("%s%d", side, len(ids)+1)
			return fmt.Sprintf("%s[%q]", ids[key], name)
		}
		return ids[key]
	}
	for _, d := range c.Duties {
		fmt.Fprintf(&out, "  %s -->|%s| %s\n", node("on", d.On), strings.Join(d.Clauses, " "), node("owes", d.Owes))
	}
	return out.String()
}

func labelled(on string, clauses []string) string {
	if len(clauses) == 0 {
		return on
	}
	return on + " (" + strings.Join(clauses, " ") + ")"
}

// Duties collects the duties of books, by what they owe on which message.
type Duties map[[2]string]map[string]bool

// Note adds an obligation.
func (d Duties) Note(on, owes string, clauses ...string) {
	key := [2]string{on, owes}
	if d[key] == nil {
		d[key] = map[string]bool{}
	}
	for _, id := range clauses {
		d[key][id] = true
	}
}

// List returns the duties, sorted.
func (d Duties) List() (out []Duty) {
	for key, ids := range d {
		out = append(out, Duty{On: key[0], Owes: key[1], Clauses: slices.Sorted(maps.Keys(ids))})
	}
	slices.SortFunc(out, func(a, b Duty) int { return cmp.Or(cmp.Compare(a.On, b.On), cmp.Compare(a.Owes, b.Owes)) })
	return out
}
