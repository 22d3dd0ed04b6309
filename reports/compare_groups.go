package reports

import (
	"strings"

	"parley/reports/causes"
	"parley/reports/lang"
)

// changeGroup is changes with the same outcomes, reason and evidence.
type changeGroup struct {
	How     string
	Changes []Change
}

// Groups returns the changes of a part, those together that differ in nothing but the clause.
func (p part) Groups(l lang.Lang) []changeGroup {
	at := map[string]int{}
	var out []changeGroup
	for _, x := range p.Changes {
		key := x.How(l) + "\x00" + causes.Kind(x.Reason)
		i, known := at[key]
		if !known || x.Reason == "" {
			i = len(out)
			at[key] = i
			out = append(out, changeGroup{How: x.How(l)})
		}
		out[i].Changes = append(out[i].Changes, x)
	}
	return out
}

// First returns the change whose reason and command stand for all.
func (g changeGroup) First() Change { return g.Changes[0] }

// IDs returns the clauses with their levels.
func (g changeGroup) IDs() string {
	var ids []string
	for _, x := range g.Changes {
		ids = append(ids, x.Clause+" "+string(x.Level))
	}
	return strings.Join(ids, ", ")
}

// Text returns what the clause of a single change says; "" for several.
func (g changeGroup) Text() string {
	if len(g.Changes) > 1 {
		return ""
	}
	return g.First().Text
}

// Narrowed warns that one of the runs did not run everything, so that changes may come of that alone; "" if both did,
// or were narrowed alike.
func (c *Comparison) Narrowed() string {
	if c.Old.Note == c.New.Note {
		return ""
	}
	var parts []string
	for _, side := range []struct {
		name string
		s    Side
	}{{c.lang.Say("old"), c.Old}, {c.lang.Say("new"), c.New}} {
		if side.s.Note != "" {
			parts = append(parts, c.lang.Say("%s: %s", side.name, side.s.Note))
		}
	}
	return c.lang.Say("The two runs did not run the same (%s): changes below may come of that alone.",
		strings.Join(parts, c.lang.Say("; ")))
}
