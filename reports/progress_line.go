package reports

import (
	"fmt"
	"strings"
	"time"

	"parley/features/verdict"
)

// eraseLine returns to the start of the line and clears it.
const eraseLine = "\r\x1b[K"

// barColumns is the length of the bar.
const barColumns = 20

// draw redraws the live line. It never fills the last column, as some terminals would wrap.
func (p *Progress) draw() {
	var b strings.Builder
	b.WriteString(eraseLine)
	room := p.opts.Width - 1
	put := func(c colour, s string) {
		s = shorten(s, room)
		room -= columns(s)
		b.WriteString(p.paint.text(c, s))
	}
	p.drawBar(put)
	put("", p.clock()+"  ")
	for _, o := range verdict.Outcomes {
		if n := p.counts[o]; n > 0 {
			put(lookOf(o).colour, fmt.Sprintf("%d %s  ", n, wordOf(o, p.opts.Lang)))
		}
	}
	put(dim, oneLine(p.last))
	p.print(b.String())
}

// drawBar puts the bar and the count, or only the count if the total is unknown.
func (p *Progress) drawBar(put func(colour, string)) {
	if p.opts.Total == 0 {
		put("", fmt.Sprintf("%d  ", p.done))
		return
	}
	full := min(barColumns, barColumns*p.done/p.opts.Total)
	put("", "[")
	put(green, strings.Repeat("#", full))
	put(dim, strings.Repeat("-", barColumns-full))
	put("", fmt.Sprintf("] %d/%d  ", p.done, p.opts.Total))
}

// clock returns the time since Start in whole seconds, to keep the line steady.
func (p *Progress) clock() string {
	s := int(time.Since(p.begun).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
