package reports

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"parley/features/verdict"
	"parley/reports/lang"
)

// redrawEvery is how often the live line is redrawn: often enough for the clock, and cheap.
const redrawEvery = 100 * time.Millisecond

// ProgressOptions shape the live progress of a run.
type ProgressOptions struct {
	TTY   bool // one line, redrawn in place; false: plain lines, without any escape codes
	Total int  // expected scenarios, counted once per driver; 0 if unknown
	Color bool // on a terminal only
	Width int  // columns of the terminal; 0 means 80
	Lang  lang.Lang
}

// Progress shows how far a run is. On a terminal it keeps one line up to date; piped, it writes a line for every
// scenario that fails and for every quarter completed. Its methods may be called from any goroutine. It writes
// nothing before Start and after Stop has returned. It ignores errors of the writer: progress is not essential.
type Progress struct {
	opts  ProgressOptions
	paint paint

	mu      sync.Mutex
	w       io.Writer
	running bool
	begun   time.Time
	done    int
	quarter int // quarters already reported
	counts  map[verdict.Outcome]int
	last    string
	waits   []func() string // of runs side by side, what a scenario waits for; see ShowWaits

	quit    chan struct{}
	stopped sync.WaitGroup
}

// NewProgress makes a progress that writes to w once started.
func NewProgress(w io.Writer, opts ProgressOptions) *Progress {
	if opts.Width == 0 {
		opts.Width = 80
	}
	return &Progress{
		w: w, opts: opts, paint: paint(opts.Color && opts.TTY),
		counts: map[verdict.Outcome]int{}, quit: make(chan struct{}),
	}
}

// Start starts the clock and, on a terminal, shows the line. Call it once.
func (p *Progress) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.begun = true, time.Now()
	if p.opts.TTY {
		p.drawLine()
		p.stopped.Go(p.keepRedrawing)
	}
}

// ScenarioDone counts a finished scenario.
func (p *Progress) ScenarioDone(s Scenario) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.counts[s.Outcome]++
	p.last = s.ID + " " + s.Name
	if p.running && !p.opts.TTY {
		p.tellFailure(s)
		p.tellQuarter()
	}
}

// ScenarioWithdrawn takes back a finished scenario, which is judged again alone and will be counted then.
func (p *Progress) ScenarioWithdrawn(s Scenario) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done--
	p.counts[s.Outcome]--
	if p.running && !p.opts.TTY && isReported(s.Outcome) {
		p.print(oneLine(p.opts.Lang.Say("withdrawn  %s %s (%s): another scenario may have caused it; "+
			"it is judged again alone", s.ID, s.Name, s.Driver)) + "\n")
	}
}

// ShowWaits has the live line say what a scenario waits for: what longest returns, unless it is "", in the place of the
// latest scenario. It is called once for each run.
func (p *Progress) ShowWaits(longest func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = append(p.waits, longest)
}

// Note writes a separate line; on a terminal it stays above the live line.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running {
		return
	}
	if !p.opts.TTY {
		p.print(oneLine(text) + "\n")
		return
	}
	p.print(eraseLine + oneLine(text) + "\n")
	p.drawLine()
}

// Stop ends the progress and removes the live line, so that later output starts on a clean line. It may be called
// again.
func (p *Progress) Stop() {
	p.mu.Lock()
	if p.running {
		p.running = false
		close(p.quit)
		if p.opts.TTY {
			p.print(eraseLine)
		}
	}
	p.mu.Unlock()
	p.stopped.Wait()
}

// keepRedrawing updates the live line and its clock until Stop.
func (p *Progress) keepRedrawing() {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			p.mu.Lock()
			if p.running {
				p.drawLine()
			}
			p.mu.Unlock()
		}
	}
}

// isReported reports whether a scenario with an outcome gets a line at once. A target that cannot be judged is reported
// once, at the end.
func isReported(o verdict.Outcome) bool {
	return o == verdict.Failed || o == verdict.UnexpectedPass || o == verdict.HarnessError
}

// tellFailure writes the line of a scenario that needs attention.
func (p *Progress) tellFailure(s Scenario) {
	if !isReported(s.Outcome) {
		return
	}
	l := p.opts.Lang
	reason := strings.TrimPrefix(headline(&Run{}, &s), string(s.Outcome))
	if why, ok := strings.CutPrefix(reason, ": "); ok {
		reason = l.Say("%s: %s", "", l.Of(why))
	}
	p.print(oneLine(l.Say("%s  %s %s (%s)%s", l.Say(string(s.Outcome)), s.ID, s.Name, s.Driver, reason)) + "\n")
}

// tellQuarter writes a line when another quarter is completed.
func (p *Progress) tellQuarter() {
	if p.opts.Total == 0 {
		return
	}
	quarter := min(4, 4*p.done/p.opts.Total)
	if quarter <= p.quarter {
		return
	}
	p.quarter = quarter
	p.print(p.opts.Lang.Say("%3d %%  %d of %s  %s  %s\n",
		25*quarter, p.done, p.opts.Lang.Count(p.opts.Total, "scenario"), p.tallyText(), p.elapsed()))
}

// print ignores errors: see Progress.
func (p *Progress) print(s string) { _, _ = io.WriteString(p.w, s) }

func (p *Progress) elapsed() string {
	return formatDuration(float64(time.Since(p.begun))/float64(time.Millisecond), p.opts.Lang)
}

// tallyText lists every outcome seen so far.
func (p *Progress) tallyText() string {
	var parts []string
	for _, o := range verdict.Outcomes {
		if n := p.counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, wordOf(o, p.opts.Lang)))
		}
	}
	return strings.Join(parts, " · ")
}

// eraseLine returns to the start of the line and clears it.
const eraseLine = "\r\x1b[K"

// barColumns is the length of the bar.
const barColumns = 20

// drawLine redraws the live line. It never fills the last column, as some terminals would wrap.
func (p *Progress) drawLine() {
	var b strings.Builder
	b.WriteString(eraseLine)
	room := p.opts.Width - 1
	put := func(c colour, s string) {
		s = shorten(s, room)
		room -= columnWidth(s)
		b.WriteString(p.paint.inColour(c, s))
	}
	p.drawBar(put)
	put("", p.elapsedSeconds()+"  ")
	for _, o := range verdict.Outcomes {
		if n := p.counts[o]; n > 0 {
			put(lookOf(o).colour, fmt.Sprintf("%d %s  ", n, wordOf(o, p.opts.Lang)))
		}
	}
	put(dim, oneLine(p.latest()))
	p.print(b.String())
}

// latest is what a scenario waits for, or else the latest scenario.
func (p *Progress) latest() string {
	for _, longest := range p.waits {
		if text := longest(); text != "" {
			return p.opts.Lang.Of(text)
		}
	}
	return p.last
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

// elapsedSeconds returns the time since Start in whole seconds, to keep the line steady.
func (p *Progress) elapsedSeconds() string {
	s := int(time.Since(p.begun).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
