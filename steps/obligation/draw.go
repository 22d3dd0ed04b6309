package obligation

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Sizes of the picture, in pixels.
const (
	rowHeight  = 26
	leftEdge   = 12
	rightEdge  = 560
	boxWidth   = 330
	sheetWidth = rightEdge + boxWidth + leftEdge
)

// SVG draws the duties of a chart: on the left the messages, on the right what is owed because of them, with a line for
// each duty whose title has its clauses. Colours follow the page that shows it.
func (c Chart) SVG() string {
	var left, right []string
	for _, d := range c.Duties {
		if !slices.Contains(left, d.On) {
			left = append(left, d.On)
		}
		if !slices.Contains(right, d.Owes) {
			right = append(right, d.Owes)
		}
	}
	height := rowHeight*(max(len(left), len(right))+1) + 8
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="12">`, sheetWidth, height)
	fmt.Fprintf(&out, "\n<title>What the %s owes</title>\n", html.EscapeString(c.Party))
	out.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	at := func(all []string, name string) int {
		step := (height - 8) / (len(all) + 1)
		return 4 + step*(slices.Index(all, name)+1)
	}
	for _, d := range c.Duties {
		from, to := at(left, d.On), at(right, d.Owes)
		fmt.Fprintf(&out, `<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="#7a8ba8" stroke-width="%.1f">`,
			leftEdge+boxWidth, from, leftEdge+boxWidth+90, from, rightEdge-90, to, rightEdge, to,
			1+float64(len(d.Clauses))/6)
		fmt.Fprintf(&out, "<title>%s: %s</title></path>\n", html.EscapeString(d.On+" → "+d.Owes),
			strings.Join(d.Clauses, " "))
	}
	box := func(x, y int, name, fill string) {
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%d" height="20" rx="4" fill="%s" stroke="#7a8ba8"/>`+
			`<text x="%d" y="%d">%s</text>`+"\n", x, y-10, boxWidth, fill, x+8, y+4, html.EscapeString(name))
	}
	for _, name := range left {
		box(leftEdge, at(left, name), name, "#eef3fb")
	}
	for _, name := range right {
		box(rightEdge, at(right, name), name, "#f3f8ee")
	}
	out.WriteString("</svg>\n")
	return out.String()
}
