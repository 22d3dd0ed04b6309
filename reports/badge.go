package reports

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"

	"parley/internal/words"
	"parley/verdict"
)

// badge is what a badge says.
type badge struct {
	message    string
	fill, name string // the colour as CSS, and as shields.io calls it
}

// BadgeLabel is the left half of every badge.
const BadgeLabel = "parley"

// badgeOf returns the badge of r. It is green for conformant alone: a run that excused anything is blue, one that was
// not complete is grey, whatever the rest of the file says.
func badgeOf(r *Results) badge {
	grey := func(text string) badge { return badge{text, "#6a737d", "lightgrey"} }
	t := tally(r)
	switch {
	case r.Verdict == verdict.NonConformant:
		text := string(verdict.NonConformant)
		if t.failed > 0 {
			text += fmt.Sprintf(" (%d of %d)", t.failed, t.total)
		}
		return badge{text, "#b31d28", "red"}
	case r.Verdict != verdict.Conformant && r.Verdict != verdict.AsExpected, r.Exit != verdict.ExitConformant, r.Partial,
		r.Passive, r.Selection != "", len(r.Runs) == 0:
		return grey(string(verdict.Incomplete))
	case r.Verdict == verdict.AsExpected, t.expected > 0, slices.ContainsFunc(r.Runs, leniently):
		text := string(verdict.AsExpected)
		if t.expected > 0 {
			text += fmt.Sprintf(" (%s)", words.Counted(t.expected, "known failure"))
		}
		return badge{text, "#0550ae", "blue"}
	}
	return badge{string(verdict.Conformant), "#1a7f37", "brightgreen"}
}

// leniently reports whether a baseline forgave anything in a run.
func leniently(run Run) bool {
	return slices.ContainsFunc(run.Baseline, func(row BaselineRow) bool { return verdict.Forgives(row.State) })
}

// WriteBadge writes an SVG badge with the verdict.
func WriteBadge(w io.Writer, r *Results) error {
	b := badgeOf(r)
	left, right := 10+textWidth(BadgeLabel), 10+textWidth(b.message)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" `+
		`aria-label="parley: %s"><title>parley: %[2]s</title>`+
		`<clipPath id="r"><rect width="%[1]d" height="20" rx="3"/></clipPath><g clip-path="url(#r)">`+
		`<rect width="%[3]d" height="20" fill="#24292f"/><rect x="%[3]d" width="%[4]d" height="20" fill="%[5]s"/></g>`+
		`<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">`+
		`<text x="%[6]d" y="14" textLength="%[7]d">parley</text><text x="%[8]d" y="14" textLength="%[9]d">%[2]s</text></g>`+
		"</svg>"+
		"\n", left+right, html.EscapeString(b.message), left, right, b.fill, left/2, left-10, left+right/2, right-10)
	return err
}

// textWidth estimates the width of an ASCII text in pixels, at 11 pixels of Verdana.
func textWidth(s string) int {
	n := 0.0
	for _, r := range s {
		switch {
		case r == 'i' || r == 'l' || r == 'j' || r == ' ' || r == '(' || r == ')' || r == '-' || r == 'f' || r == 't':
			n += 4.5
		case r == 'm' || r == 'w':
			n += 10
		default:
			n += 7
		}
	}
	return int(n)
}

// WriteShields writes the JSON of an endpoint badge of shields.io. The page that shows it can override the colour of a
// conformant run alone.
func WriteShields(w io.Writer, r *Results) error {
	b := badgeOf(r)
	out, err := json.Marshal(struct {
		Version int    `json:"schemaVersion"`
		Label   string `json:"label"`
		Message string `json:"message"`
		Color   string `json:"color"`
		IsError bool   `json:"isError,omitempty"`
	}{1, BadgeLabel, b.message, b.name, b.name != "brightgreen"})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", out)
	return err
}
