package reports

import (
	"fmt"
	"slices"
	"strings"

	"parley/reports/lang"
)

// Measures of the picture of a course, in pixels.
const (
	cutRow   = 22
	cutTop   = 30
	cutLeft  = 70
	cutRight = 210
	cutLabel = 226
	cutHow   = 440
	cutChar  = 8.2 // width of a character, at most
)

// cutPicture is the sequence of a course's records, with what a cut after each brought about.
type cutPicture struct {
	Left, Right   int
	Width, Height int
	Life          int // length of the parties' lines
	Said          string
	Rows          []cutPictured
}

// cutPictured is a record in such a picture.
type cutPictured struct {
	N, Top, Base int
	LabelX, HowX int
	Class        string // "passed", "broke" or "unknown"
	Arrow        string // path data
	Label, Mark  string
}

// brokenCuts returns the courses of a run with points that broke, each to be pictured; nil if there are none.
func brokenCuts(run *Run) []*Cuts {
	var out []*Cuts
	for i := range run.Cuts {
		if len(run.Cuts[i].Broke) > 0 && len(run.Cuts[i].Records) > 0 {
			out = append(out, &run.Cuts[i])
		}
	}
	return out
}

// Picture lays the records of the course out for the page.
func (c *Cuts) Picture(l lang.Lang) cutPicture {
	p := cutPicture{Left: cutLeft, Right: cutRight, Life: cutRow*len(c.Records) + cutTop - 24,
		Height: cutRow*len(c.Records) + cutTop + 8}
	widest := 0
	for i := range c.Records {
		r := &c.Records[i]
		top := cutTop + i*cutRow
		row := cutPictured{N: i + 1, Top: top, Base: top + 15, LabelX: cutLabel, HowX: cutHow, Class: r.How, Label: r.Label,
			Mark: r.mark(l), Arrow: cutArrow(r.Sent, top+cutRow/2)}
		if r.How != CutPassed && r.How != CutBroke {
			row.Class = "unknown"
		}
		widest = max(widest, len([]rune(row.Mark)))
		p.Rows = append(p.Rows, row)
	}
	p.Width = cutHow + int(cutChar*float64(widest)) + 16
	p.Said = c.said(l)
	return p
}

// cutArrow is the path of an arrow between the parties' lines.
func cutArrow(sent bool, y int) string {
	from, to, back := cutLeft+4, cutRight-4, -7
	if !sent {
		from, to, back = to, from, 7
	}
	return fmt.Sprintf("M%d %dH%dm%d -4L%d %dl%d 4", from, y, to, back, to, y, back)
}

// said tells the picture in words, for those who do not see it.
func (c *Cuts) said(l lang.Lang) string {
	parts := []string{l.Say("%d records in order", len(c.Records))}
	for i := range c.Records {
		if r := &c.Records[i]; r.How == CutBroke {
			parts = append(parts, l.Say("a cut after record %d, %s, breaks %s", i+1, r.Label,
				strings.Join(slices.Clone(r.Clauses), ", ")))
		}
	}
	return strings.Join(parts, l.Say("; "))
}
