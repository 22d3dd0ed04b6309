package trafficview

import (
	"bytes"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"parley/simulator/gate"
	"parley/transport/transcript"
)

// Colours, by what they say.
const (
	red, green, yellow, dim, bold, reversed = "31", "32", "33", "2", "1", "7"
)

func (s *screen) paint(code, text string) string {
	if !s.v.o.Color && code != reversed || text == "" { // the chosen line must show
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// View implements tea.Model.
func (s *screen) View() tea.View {
	var lines []string
	lines = append(lines, s.paint(bold, s.v.title), s.paint(dim, s.v.o.Judges))
	switch {
	case s.help:
		lines = append(lines, helpLines()...)
	case s.listing:
		lines = append(lines, s.listLines()...)
	case s.inspect && s.chosen() != nil:
		all := s.inspectLines(s.chosen())
		s.scroll = max(0, min(s.scroll, len(all)-s.rows()))
		lines = append(lines, all[s.scroll:min(len(all), s.scroll+s.rows())]...)
	default:
		for i := s.top; i < min(len(s.shown), s.top+s.rows()); i++ {
			line := s.line(&s.items[s.shown[i]])
			if i == s.at {
				line = s.paint(reversed, ansi.Strip(line))
			}
			lines = append(lines, line)
		}
		if len(s.shown) == 0 {
			lines = append(lines, "", "  "+s.emptyText())
		}
	}
	room := s.rows() + 2
	for len(lines) < room {
		lines = append(lines, "")
	}
	lines = append(append(lines[:room], s.debtLines()...), s.stateLine(), s.keysLine())
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], s.width, "…")
	}
	view := tea.NewView(strings.Join(lines, "\n"))
	view.AltScreen = true
	return view
}

func (s *screen) emptyText() string {
	if len(s.items) > 0 {
		return "no message fits the filter (esc clears it)"
	}
	return "no message yet: let your client connect to the first address above"
}

// line is a message on a line.
func (s *screen) line(i *item) string {
	arrow := map[transcript.Dir]string{transcript.Sent: "→", transcript.Received: "←"}[i.r.Dir]
	text := fmt.Sprintf("%5d %9.3f s %-5s %s %s", i.r.N, i.r.At.Seconds(), i.r.Conn, pad(arrow, 1), pad(i.title(), 24))
	if i.r.Status != 0 {
		text += fmt.Sprintf(" %d", i.r.Status)
	}
	if judged := s.judged(i); judged != "" {
		text += "  " + judged
	}
	return text + "  " + s.paint(dim, flat(i.r.Bytes))
}

// judged says what was judged by a message: what it breaks, or that it keeps something.
func (s *screen) judged(i *item) string {
	var failed, warned []string
	for _, b := range i.broken {
		if b.Outcome == "failed" {
			failed = append(failed, b.Clause)
		} else {
			warned = append(warned, b.Clause)
		}
	}
	switch {
	case len(failed) > 0:
		return s.paint(red, "✗ "+strings.Join(failed, " "))
	case len(warned) > 0:
		return s.paint(yellow, "~ "+strings.Join(warned, " "))
	case len(i.kept) > 0:
		return s.paint(green, fmt.Sprintf("✓ %d", len(i.kept)))
	}
	return ""
}

// flat puts a payload on one line.
func flat(b []byte) string { return transcript.Printable(strings.Join(strings.Fields(string(b)), " ")) }

// pad fills a text with blanks, by the columns that it takes.
func pad(text string, columns int) string {
	text = ansi.Truncate(text, columns, "…")
	return text + strings.Repeat(" ", columns-ansi.StringWidth(text))
}

// inspectLines are the chosen message in full, with what was judged by it.
func (s *screen) inspectLines(i *item) []string {
	lines := []string{s.paint(bold, fmt.Sprintf("message %d of %s: %s", i.r.N, i.r.Conn, i.title()))}
	add := func(text string) { lines = append(lines, s.wrap(text)...) }
	for _, b := range i.broken {
		lines = append(lines, s.paint(red, fmt.Sprintf("✗ %s %s (%s)", b.Clause, b.Outcome, b.Role)))
		add("  expected  " + b.Expected)
		add("  observed  " + b.Observed)
	}
	if len(i.kept) > 0 {
		lines = append(lines, s.paint(green, "✓ "+strings.Join(i.kept, " ")))
	}
	lines = append(lines, "")
	pretty := jsontext.Value(bytes.Clone(i.r.Bytes))
	if pretty.Indent(jsontext.WithIndent("  ")) != nil { // no JSON
		pretty = i.r.Bytes
	}
	add(string(pretty))
	if i.r.Cut > 0 {
		lines = append(lines, fmt.Sprintf("… %d more bytes", i.r.Cut))
	}
	return lines
}

// wrap breaks a text into lines of the screen.
func (s *screen) wrap(text string) (lines []string) {
	for part := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.Split(ansi.Hardwrap(transcript.Printable(part), s.width, true), "\n")...)
	}
	return lines
}

// stateLine says what has passed, and what the keys have set.
func (s *screen) stateLine() string {
	parts := []string{fmt.Sprintf("%d open of %d connections · %d messages · %d findings", s.stats.Open, s.stats.Conns,
		s.stats.Messages, s.stats.Broken)}
	if s.filter != "" || s.typing {
		cursor := ""
		if s.typing {
			cursor = "▏"
		}
		parts = append(parts, fmt.Sprintf("filter: %s%s (%d)", s.filter, cursor, len(s.shown)))
	}
	if s.paused {
		parts = append(parts, s.paint(yellow, "paused"))
	}
	if on, n, next := s.v.hold.state(); on {
		text := fmt.Sprintf("holding: %d wait", n)
		if next != nil {
			side := "the client"
			if next.from == gate.Server {
				side = "the server"
			}
			text += fmt.Sprintf(", first %s of %s on %s", next.typ, side, next.conn)
		}
		parts = append(parts, s.paint(yellow, text))
	}
	if s.follow {
		parts = append(parts, "following")
	}
	if s.notice != "" {
		parts = append(parts, s.paint(bold, s.notice))
	}
	return strings.Join(parts, " · ")
}

func (s *screen) keysLine() string {
	if s.typing {
		return s.paint(dim, "words, type:… conn:… clause:… verdict:failed, - negates · enter keeps it · esc clears it")
	}
	owed := ""
	if s.debts > 0 {
		owed = "o owed · "
	}
	return s.paint(dim, "↑↓ move · enter inspect · / filter · f follow · p pause · h hold · n next · "+owed+
		"y copy · e export · ? keys · q quit")
}

func helpLines() []string {
	return []string{"",
		"  ↑ ↓ j k  PgUp PgDn  g G   move; in a message: scroll",
		"  enter   show the message in full, with what was judged by it",
		"  /       filter: words, type:agent_switched, conn:C1, clause:AS-045, verdict:failed; -word excludes",
		"  f       follow the newest message, or stay",
		"  p       pause what is shown; the traffic goes on",
		"  h       hold every message back; again: let all pass",
		"  n       let the next message pass that is held back",
		"  o       list what is owed: ↑ ↓ choose, enter shows the message that is the cause",
		"  y       copy the message",
		"  e       export the shown messages as a recording",
		"  esc     back; clear the filter",
		"  q       end the proxy, and print the report",
	}
}
