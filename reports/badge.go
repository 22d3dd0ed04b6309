package reports

import (
	"fmt"
	"html"
	"io"
	"slices"

	"github.com/go-json-experiment/json"

	"parley/features/verdict"
	"parley/internal/jsonform"
	"parley/internal/words"
)

// Badge is what a badge says: the name of the program, and a message on a colour. White text has a contrast of more
// than 4.5 on each.
type Badge struct {
	Message string
	Colour  Colour
}

// Colour is the colour of a badge.
type Colour struct{ fill, name string } // as CSS, and as shields.io calls it

// The colours of badges. Green is for a target that conforms, and for nothing else.
var (
	Green = Colour{"#1a7f37", "brightgreen"}
	Blue  = Colour{"#0550ae", "blue"}
	Red   = Colour{"#b31d28", "red"}
	Grey  = Colour{"#5f6775", "lightgrey"}
)

// BadgeLabel is the left half of every badge.
const BadgeLabel = "parley"

// badgeOf returns the badge of r. It is green for conformant alone: a run that excused anything is blue, one that was
// not complete is grey, whatever the rest of the file says.
func badgeOf(r *Results) Badge {
	t := sumUpRuns(r)
	switch {
	case r.Verdict == verdict.NonConformant:
		text := string(verdict.NonConformant)
		if t.failed > 0 {
			text += fmt.Sprintf(" (%d of %d)", t.failed, t.total)
		}
		return Badge{text, Red}
	case r.Verdict != verdict.Conformant && r.Verdict != verdict.AsExpected, r.Exit != verdict.ExitConformant, r.Partial,
		r.Passive, r.Selection != "", len(r.Runs) == 0:
		return Badge{string(verdict.Incomplete), Grey}
	case r.Verdict == verdict.AsExpected, t.expected > 0, slices.ContainsFunc(r.Runs, wasForgiving):
		text := string(verdict.AsExpected)
		if t.expected > 0 {
			text += fmt.Sprintf(" (%s)", words.Counted(t.expected, "known failure"))
		}
		return Badge{text, Blue}
	}
	return Badge{string(verdict.Conformant), Green}
}

// wasForgiving reports whether a baseline forgave anything in a run.
func wasForgiving(run Run) bool {
	return slices.ContainsFunc(run.Baseline, func(row BaselineRow) bool { return verdict.Forgives(row.State) })
}

// WriteBadge writes an SVG badge with the verdict.
func WriteBadge(w io.Writer, r *Results) error {
	_, err := w.Write(badgeOf(r).SVG())
	return err
}

// SVG draws the badge: two texts side by side. It has no script and no reference, and its texts are escaped.
func (b Badge) SVG() []byte {
	left, right := 10+textWidth(BadgeLabel), 10+textWidth(b.Message)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" `+
		`aria-label="parley: %s"><title>parley: %[2]s</title><rect width="%[1]d" height="20" rx="3" fill="#24292f"/>`+
		`<path d="M%[3]d 0h%[4]da3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H%[3]dz" fill="%[5]s"/>`+
		`<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">`+
		`<text x="%[6]d" y="14" textLength="%[7]d">parley</text><text x="%[8]d" y="14" textLength="%[9]d">%[2]s</text></g>`+
		"</svg>\n", left+right, html.EscapeString(b.Message), left, right-3, b.Colour.fill, left/2, left-10, left+right/2,
		right-10)
}

// textWidth estimates the width of a text in pixels, at 11 pixels of Verdana.
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
	out, err := badgeOf(r).Shields()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", out)
	return err
}

// Shields returns the badge as JSON for shields.io.
func (b Badge) Shields() ([]byte, error) {
	return json.Marshal(struct {
		Version int    `json:"schemaVersion"`
		Label   string `json:"label"`
		Message string `json:"message"`
		Color   string `json:"color"`
		IsError bool   `json:"isError,omitempty"`
	}{1, BadgeLabel, b.Message, b.Colour.name, b.Colour != Green}, jsonform.Escaped)
}
