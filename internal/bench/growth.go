package bench

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// Line is how the costs of a command grow with its work.
type Line struct {
	Name, Unit string
	Points     []Point
}

// Point is what so much work costs.
type Point struct {
	Size    int
	Seconds float64 // of processor time
	MiB     float64 // of memory at the most
}

// Slopes returns the exponents by which time and memory grow from the last point but one to the last: 1 is in
// proportion. What a start takes is no growth, so that smaller works say little.
func (l Line) Slopes() (time, memory float64) {
	if len(l.Points) < 2 {
		return 0, 0
	}
	a, b := l.Points[len(l.Points)-2], l.Points[len(l.Points)-1]
	by := math.Log(float64(b.Size) / float64(a.Size))
	return math.Log(b.Seconds/a.Seconds) / by, math.Log(b.MiB/a.MiB) / by
}

// The picture: two panels of this size, and room around them.
const (
	panelWidth, panelHeight   = 330.0, 300.0
	panelLeft, panelTop       = 64.0, 44.0
	panelGap, legend, bottom  = 70.0, 160.0, 44.0
	pictureWidth              = panelLeft + 2*panelWidth + panelGap + legend
	pictureHeight             = panelTop + panelHeight + bottom
	secondsFrom, secondsTo    = 0.01, 1000.0
	mebibytesFrom, mebibyteTo = 10.0, 10000.0
)

// lineColours can be told apart also by those who see few colours.
var lineColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56606b"}

// DrawGrowth draws processor time and memory of 1, 10 and 100 times the work of each line, on logarithmic axes, as SVG.
// Grey lines are costs in proportion to the work.
func DrawGrowth(lines []Line) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" `+
		`font-size="12">`+"\n<title>Time and memory of 1, 10 and 100 times the work</title>\n"+
		`<rect width="100%%" height="100%%" fill="#fff"/>`+"\n", pictureWidth, pictureHeight)
	time := panel{&b, panelLeft, secondsFrom, secondsTo, "processor time, s"}
	memory := panel{&b, panelLeft + panelWidth + panelGap, mebibytesFrom, mebibyteTo, "peak memory, MiB"}
	time.drawAxes()
	memory.drawAxes()
	for i, l := range lines {
		colour := lineColours[i%len(lineColours)]
		time.drawLine(l, colour, func(p Point) float64 { return p.Seconds })
		memory.drawLine(l, colour, func(p Point) float64 { return p.MiB })
		x, y := pictureWidth-legend+16, panelTop+20+float64(i)*44
		fmt.Fprintf(&b, `<path d="M%.0f %.0fh22" stroke="%s" stroke-width="2.5"/>`+"\n", x, y-4, colour)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text>`+"\n", x+28, y, html.EscapeString(l.Name))
		first := 0
		if len(l.Points) > 0 {
			first = l.Points[0].Size
		}
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" font-size="10" fill="#444">1× = %d %s</text>`+"\n", x, y+15, first,
			html.EscapeString(l.Unit))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// panel is one of the two.
type panel struct {
	b        *bytes.Buffer
	left     float64
	from, to float64
	title    string
}

// at returns the place of a value at so many times the work.
func (p panel) at(times, value float64) (x, y float64) {
	share := math.Log(value/p.from) / math.Log(p.to/p.from)
	return p.left + math.Log10(times)/2*panelWidth, panelTop + (1-min(max(share, 0), 1))*panelHeight
}

func (p panel) drawAxes() {
	fmt.Fprintf(p.b, `<text x="%.0f" y="24" font-weight="bold">%s</text>`+"\n", p.left, p.title)
	for v := p.from; v <= p.to*1.01; v *= 10 {
		_, y := p.at(1, v)
		fmt.Fprintf(p.b, `<path d="M%.0f %.1fh%.0f" stroke="#ddd"/>`+"\n", p.left, y, panelWidth)
		fmt.Fprintf(p.b, `<text x="%.0f" y="%.1f" text-anchor="end">%g</text>`+"\n", p.left-8, y+4, v)
		x1, y1 := p.at(1, v)
		if x2, y2 := p.at(100, v*100); v*100 <= p.to*1.01 {
			fmt.Fprintf(p.b, `<path d="M%.0f %.1fL%.0f %.1f" stroke="#bbb" stroke-dasharray="3 4"/>`+"\n", x1, y1, x2, y2)
		}
	}
	for _, times := range []float64{1, 10, 100} {
		x, _ := p.at(times, p.from)
		fmt.Fprintf(p.b, `<path d="M%.0f %.0fv%.0f" stroke="#ddd"/>`+"\n", x, panelTop, panelHeight)
		fmt.Fprintf(p.b, `<text x="%.0f" y="%.0f" text-anchor="middle">%g×</text>`+"\n", x, panelTop+panelHeight+18, times)
	}
}

func (p panel) drawLine(l Line, colour string, of func(Point) float64) {
	path := ""
	for i, point := range l.Points {
		x, y := p.at(float64(point.Size)/float64(l.Points[0].Size), of(point))
		path += fmt.Sprintf("%c%.1f %.1f", "ML"[min(i, 1)], x, y)
		fmt.Fprintf(p.b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"><title>%s: %d %s: %.4g</title></circle>`+"\n", x, y,
			colour, html.EscapeString(l.Name), point.Size, html.EscapeString(l.Unit), of(point))
	}
	fmt.Fprintf(p.b, `<path d="%s" fill="none" stroke="%s" stroke-width="2.5"/>`+"\n", path, colour)
}
