package trafficview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/features/verdict"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/transport/transcript"
)

// item is a message with what was judged of it.
type item struct {
	r      transcript.Record
	typ    string         // in the protocol's terms; "" if it has none
	broken []proxy.Broken // by it
	kept   []string       // clauses that it shows to be kept
}

// title says what a message is, in a word or a few.
func (i *item) title() string {
	return cmp.Or(i.typ, strings.TrimSpace(string(i.r.Kind)+" "+i.r.Label))
}

// clauses are those that were judged by the message.
func (i *item) clauses() []string {
	var out []string
	for _, b := range i.broken {
		out = append(out, b.Clause)
	}
	return append(out, i.kept...)
}

// outcome is that of the message: failed, warned, passed, or "" if nothing was judged by it.
func (i *item) outcome() string {
	out := ""
	for _, b := range i.broken {
		if out = string(b.Outcome); b.Outcome == verdict.Failed {
			break
		}
	}
	if out == "" && len(i.kept) > 0 {
		return string(verdict.Passed)
	}
	return out
}

// tick asks for what has come.
type tick struct{}

// screen is the state of what is shown; bubbletea's model.
type screen struct {
	v             *View
	width, height int

	items   []item
	shown   []int // items that fit the filter
	at, top int   // of shown: the chosen message, and the first line
	follow  bool
	paused  bool
	inspect bool
	scroll  int // of the inspected message
	help    bool
	typing  bool // the filter
	filter  string
	notice  string // tells what a key has done
	stats   proxy.Stats

	owed    []steps.Owed // the oldest first
	debts   int          // that there are
	listing bool         // of debts
	debt    int          // of owed: the chosen one
}

func newScreen(v *View) *screen { return &screen{v: v, width: 80, height: 24, follow: true} }

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return nextTick() }

func nextTick() tea.Cmd { return tea.Tick(redraw, func(time.Time) tea.Msg { return tick{} }) }

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = max(40, m.Width), max(8, m.Height)
	case tick:
		if s.v.traffic != nil {
			s.stats = s.v.traffic.Stats()
		}
		if !s.paused {
			s.take()
		}
		return s, nextTick()
	case tea.KeyPressMsg:
		s.notice = ""
		if s.typing {
			s.typeFilter(m)
			return s, nil
		}
		return s, s.press(m.String())
	}
	s.keepInside()
	return s, nil
}

// take adds what has come.
func (s *screen) take() {
	if s.v.traffic != nil {
		s.owed, s.debts = s.v.traffic.Owed()
		s.debt = max(0, min(s.debt, len(s.owed)-1))
	}
	come, checked := s.v.takeNew()
	for _, r := range come {
		one := item{r: r}
		if s.v.o.TypeOf != nil && len(r.Bytes) > 0 {
			one.typ = s.v.o.TypeOf(r.Bytes)
		}
		s.items = append(s.items, one)
		if one.matches(s.filter) {
			s.shown = append(s.shown, len(s.items)-1)
		}
	}
	for _, c := range checked {
		s.mark(c)
	}
	if len(s.items) > maxItems {
		s.items = slices.Clone(s.items[len(s.items)-maxItems*9/10:])
		s.applyFilter()
	}
	s.keepInside()
}

// mark puts what a round of judging says beside its messages.
func (s *screen) mark(c proxy.Checked) {
	find := func(n int) *item {
		i, ok := slices.BinarySearchFunc(s.items, n, func(one item, n int) int { return one.r.N - n })
		if !ok {
			return nil
		}
		return &s.items[i]
	}
	for n, ids := range c.Held {
		if one := find(n); one != nil {
			for _, id := range ids {
				if !slices.Contains(one.kept, id) {
					one.kept = append(one.kept, id)
				}
			}
		}
	}
	for _, b := range c.Broken {
		if one := find(b.N); one != nil && !slices.ContainsFunc(one.broken,
			func(had proxy.Broken) bool { return had.Clause == b.Clause && had.Role == b.Role }) {
			one.broken = append(one.broken, b)
		}
	}
	if s.filter != "" {
		s.applyFilter()
	}
}

// applyFilter looks for the messages that fit the filter, and keeps the chosen one if it is among them.
func (s *screen) applyFilter() {
	chosen := 0
	if one := s.chosen(); one != nil {
		chosen = one.r.N
	}
	s.shown = s.shown[:0]
	s.at = 0
	for i := range s.items {
		if s.items[i].matches(s.filter) {
			if s.items[i].r.N <= chosen {
				s.at = len(s.shown)
			}
			s.shown = append(s.shown, i)
		}
	}
	s.keepInside()
}

// chosen is the chosen message; nil if none is shown.
func (s *screen) chosen() *item {
	if s.at < 0 || s.at >= len(s.shown) || s.shown[s.at] >= len(s.items) {
		return nil
	}
	return &s.items[s.shown[s.at]]
}

// rows is how many messages fit.
func (s *screen) rows() int { return max(1, s.height-4-min(len(s.owed), mostDebts)) }

// keepInside keeps the chosen message among the shown ones, and visible.
func (s *screen) keepInside() {
	if s.follow {
		s.at = len(s.shown) - 1
	}
	s.at = max(0, min(s.at, len(s.shown)-1))
	s.top = max(0, min(s.top, s.at, len(s.shown)-s.rows()))
	if s.at >= s.top+s.rows() {
		s.top = s.at - s.rows() + 1
	}
}

// press does what a key asks for.
func (s *screen) press(key string) tea.Cmd {
	defer s.keepInside()
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "pgup", "b":
		s.move(-s.rows())
	case "pgdown", "space":
		s.move(s.rows())
	case "home", "g":
		s.move(-len(s.items))
	case "end", "G":
		s.move(len(s.items))
	case "enter":
		if s.listing {
			s.goToCause()
			break
		}
		s.inspect, s.scroll = !s.inspect && s.chosen() != nil, 0
	case "esc":
		switch {
		case s.help || s.inspect || s.listing:
			s.help, s.inspect, s.listing = false, false, false
		case s.filter != "":
			s.filter = ""
			s.applyFilter()
		}
	case "/":
		s.typing, s.inspect, s.help, s.listing = true, false, false, false
	case "?":
		s.help = !s.help
	case "f":
		s.follow = !s.follow
	case "p":
		s.paused = !s.paused
	case "h":
		s.v.hold.toggle()
	case "n":
		s.v.hold.releaseOne()
	case "o":
		s.listing, s.inspect, s.help, s.debt = !s.listing, false, false, 0
	case "y":
		return s.copyChosen()
	case "e":
		s.export()
	}
	return nil
}

// move chooses another message or debt, or scrolls the inspected message.
func (s *screen) move(n int) {
	if s.listing {
		s.debt = max(0, min(s.debt+n, len(s.owed)-1))
		return
	}
	if s.inspect {
		s.scroll = max(0, s.scroll+n)
		return
	}
	s.at = max(0, min(s.at+n, len(s.shown)-1))
	s.follow = s.at == len(s.shown)-1 && n > 0
}

// typeFilter takes a key of the filter's line.
func (s *screen) typeFilter(k tea.KeyPressMsg) {
	switch key := k.String(); {
	case key == "enter":
		s.typing = false
	case key == "esc" || key == "ctrl+c":
		s.typing, s.filter = false, ""
	case key == "backspace":
		if text := []rune(s.filter); len(text) > 0 {
			s.filter = string(text[:len(text)-1])
		}
	case k.Text != "":
		s.filter += k.Text
	}
	s.applyFilter()
}

// copyChosen puts the payload of the chosen message on the clipboard of the terminal.
func (s *screen) copyChosen() tea.Cmd {
	one := s.chosen()
	if one == nil {
		return nil
	}
	s.notice = fmt.Sprintf("message %d is copied, if your terminal lets programs do that", one.r.N)
	return tea.SetClipboard(string(one.r.Bytes))
}

// export writes the shown messages to a file.
func (s *screen) export() {
	if s.v.o.Export == nil {
		return
	}
	var records []transcript.Record
	for _, i := range s.shown {
		records = append(records, s.items[i].r)
	}
	name, err := s.v.o.Export(records)
	if s.notice = fmt.Sprintf("%d messages are in %s", len(records), name); err != nil {
		s.notice = err.Error()
	}
}
