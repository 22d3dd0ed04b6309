package agent

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	proto "parley/protocol/externalagent"
)

// planner ranks the calls that could be made in a state. It knows the default booking flow and guesses at others:
//
//  1. choose something where nothing is chosen
//  2. set a quantity where the sum is not right
//  3. call tools of unknown purpose, once per stage
//  4. go to the next stage
//  5. choose something else, call tools of unknown purpose with other parameters
//  6. filter, sort and the like once; go back; filter, sort and the like
//
// A call that failed, or changed nothing, is repeated in the same state only once, after another state and after all
// new calls. Of the calls that changed something, those come first that were made less often in the state, so that no
// circle is endless.
type planner struct {
	wishes   wishes
	tried    map[stateKey]map[string]trial // by tool and parameters
	used     map[string]map[string]int     // stage → tool → how often it changed something
	met      map[string]map[string]bool    // stage → tool → it was called
	rejected map[string]map[float64]bool   // stage → sums of quantities with which it can't be left
	chosen   int                           // how many items the last stage with a choice had chosen
	moves    int                           // calls that have led to another state
	schemas  schemas
}

// trial is the result of the calls in a state so far.
type trial struct {
	times  int
	futile int
	move   int // the moves before it was last futile
}

// over reports whether the call is not made again, moves being those until now.
func (t trial) over(moves int) bool { return t.futile > 1 || t.futile == 1 && t.move == moves }

func newPlanner() *planner {
	return &planner{
		tried: map[stateKey]map[string]trial{}, used: map[string]map[string]int{}, met: map[string]map[string]bool{},
		rejected: map[string]map[float64]bool{}, schemas: schemas{},
	}
}

// renewed forgets everything except the wishes of the user.
func (p *planner) renewed() *planner {
	n := newPlanner()
	n.wishes = p.wishes
	return n
}

// rank is how soon a call is made; the smallest first.
type rank int

const (
	chooseFirst rank = iota
	setSum
	unknownFirst
	goOn
	chooseMore
	unknownAgain
	aside
	goBack
	asideAgain
	hopeless
)

// The purpose of a tool, by its name.
var (
	choosing  = regexp.MustCompile(`(?i)^(select|choose|pick|add|toggle)`)
	counting  = regexp.MustCompile(`(?i)quantity|count|amount`)
	advancing = regexp.MustCompile(
		`(?i)^(next|confirm|continue|proceed|submit|book|finish|done|check_?out|pay|complete|forward|advance)`)
	returning = regexp.MustCompile(`(?i)^(prev|back|undo|cancel|reset|restart)`)
	decorates = regexp.MustCompile(
		`(?i)^(post_?message|send|message|say|filter|sort|highlight|search|scroll|help|clear|remove|deselect|unselect)`)
)

// candidate is a call with its rank, its results in this state so far, and their cost.
type candidate struct {
	Call
	rank   rank
	before trial
	cost   int
}

// candidates are the calls that make sense in a state, best first.
func (p *planner) candidates(s State) []Call {
	screen := readScreen(s.UISpec)
	screen.items = p.wishes.best(screen.items)
	if screen.quantities == nil && len(screen.chosen) > 0 {
		p.chosen = len(screen.chosen)
	}
	var found []candidate
	for _, t := range s.Tools {
		found = append(found, p.uses(t, screen)...)
	}
	tried := p.tried[keyOf(s)]
	for i := range found {
		c := &found[i]
		c.before = tried[c.what()]
		// one repetition is not a circle yet: the host may have been reset
		if c.cost = c.before.times; c.rank <= chooseMore && c.before.futile == 0 {
			c.cost = max(0, c.cost-1)
		}
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return c.before.over(p.moves) })
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.rank, b.rank))
	})
	calls := make([]Call, 0, len(found))
	for _, c := range found {
		calls = append(calls, c.Call)
	}
	return calls
}

// what identifies a call by tool and parameters.
func (c Call) what() string { return c.Tool + "\n" + canonical(c.Params) }

// uses are the calls of one tool.
func (p *planner) uses(t proto.Tool, s screen) []candidate {
	used := p.used[s.stage][t.Name]
	switch {
	case choosing.MatchString(t.Name):
		return p.choices(t, s, used)
	case counting.MatchString(t.Name):
		return p.sums(t, s, used)
	case advancing.MatchString(t.Name):
		return p.plain(t, s, goOn, "Go on: what this stage asks for is done.")
	case returning.MatchString(t.Name):
		return p.plain(t, s, goBack, "Go back, as there is no way forward from here.")
	case decorates.MatchString(t.Name):
		found := p.plain(t, s, asideAgain, fmt.Sprintf("Use %s, as there is no way forward without it.", quote(t.Name)))
		if len(found) > 0 && !p.met[s.stage][t.Name] {
			found[0].rank = aside
		}
		return found
	}
	found := p.plain(t, s, unknownAgain, fmt.Sprintf("Try %s in another way, as there is no way forward yet.",
		quote(t.Name)))
	if len(found) > 0 && !p.met[s.stage][t.Name] {
		found[0].rank, found[0].Reason = unknownFirst, fmt.Sprintf("Try %s, which is offered at this stage.", quote(t.Name))
	}
	return found
}

// choices choose one of the items. The host usually shows whether one is chosen; otherwise the agent remembers it.
func (p *planner) choices(t proto.Tool, s screen, used int) (found []candidate) {
	const enough = 3 // choices that are not shown as such
	r, why := chooseFirst, "as nothing is chosen at this stage yet"
	if len(s.chosen) > 0 || used > 0 && !s.shows || used >= enough {
		r, why = chooseMore, "as there is no way forward with what is chosen"
	}
	free := slices.DeleteFunc(slices.Clone(s.items), func(i item) bool { return slices.Contains(s.chosen, i.id) })
	for _, params := range p.schemas.params(t, source{screen: s, items: free}) {
		c := candidate{Call: Call{Tool: t.Name, Params: params}, rank: r}
		i := mentioned(params, free)
		switch {
		case i == nil:
			c.Reason = fmt.Sprintf("Make a choice with %s, %s.", quote(t.Name), why)
		case !i.available:
			c.rank, c.Reason = hopeless, fmt.Sprintf("Try %s although it looks sold out: nothing else is left.", quote(i.label))
		case p.wishes.fits(*i) > 0:
			c.Reason = fmt.Sprintf("Choose %s, which fits what the user asked for, %s.", quote(i.label), why)
		default:
			c.Reason = fmt.Sprintf("Choose %s, %s.", quote(i.label), why)
		}
		found = append(found, c)
	}
	return found
}

// mentioned is the item whose id is among the parameters; nil if none is.
func mentioned(params object, items []item) *item {
	for n, i := range items {
		for _, v := range params {
			if list, isArray := v.([]any); isArray && len(list) > 0 {
				v = list[0]
			}
			if idOf(v) == i.id {
				return &items[n]
			}
		}
	}
	return nil
}

// sums set the quantity of an item so that the sum is as many as are wanted.
func (p *planner) sums(t proto.Tool, s screen, used int) (found []candidate) {
	want := p.want(s)
	r := setSum
	if s.quantities == nil && used > 0 {
		r = unknownAgain
	} else if s.quantities != nil && s.sum() == want {
		return nil
	}
	add := func(src source, quantity float64) {
		src.screen, src.quantity = s, &quantity
		for _, params := range p.schemas.params(t, src) {
			found = append(found, candidate{rank: r, Call: Call{
				Tool: t.Name, Params: params, Reason: fmt.Sprintf("Set a quantity of %g, so that the sum is %g.", quantity, want),
			}})
		}
	}
	for _, i := range s.items {
		had := s.quantities[i.id]
		quantity := max(0, want-(s.sum()-had))
		if i.available && (quantity != had || s.quantities == nil) {
			add(source{items: []item{i}}, quantity)
		}
	}
	if len(s.items) == 0 {
		add(source{}, want)
	}
	return found
}

// want is the sum that a stage is left with: one for each thing that was chosen before. When that is rejected, others
// are tried: a few, if it was known.
func (p *planner) want(s screen) float64 {
	first := cmp.Or(p.chosen, s.seats)
	try := []int{first, s.seats, first + 1, first - 1}
	if first == 0 {
		first, try = 1, []int{1, 2, 3, 4, 5, 6, 7, 8}
	}
	for _, n := range try {
		if n > 0 && !p.rejected[s.stage][float64(n)] {
			return float64(n)
		}
	}
	return float64(first)
}

// plain are the calls of a tool of which only the schema is known.
func (p *planner) plain(t proto.Tool, s screen, r rank, reason string) (found []candidate) {
	src := source{screen: s, items: slices.DeleteFunc(slices.Clone(s.items), func(i item) bool { return !i.available })}
	for _, params := range p.schemas.params(t, src) {
		found = append(found, candidate{Call: Call{Tool: t.Name, Params: params, Reason: reason}, rank: r})
	}
	return found
}

// called learns what a call has led to.
func (p *planner) called(c Called, after State) {
	effect := changed(c.Before, after, c.Tool == proto.PostMessage)
	stage := p.remember(c, !effect).stage
	if !effect {
		return
	}
	at(p.used, stage)[c.Tool]++
	if keyOf(c.Before) != keyOf(after) {
		p.moves++
	}
}

// failed learns that a call failed. If that was at leaving a stage, another sum is wanted there.
func (p *planner) failed(c Called, code string) {
	s := p.remember(c, true)
	if code == proto.ToolExecutionFailed && s.quantities != nil && advancing.MatchString(c.Tool) {
		at(p.rejected, s.stage)[s.sum()] = true
	}
}

// remember notes that a call was made, and returns where.
func (p *planner) remember(c Called, futile bool) screen {
	tried := at(p.tried, keyOf(c.Before))
	t := tried[c.what()]
	t.times++
	if futile {
		t.futile, t.move = t.futile+1, p.moves
	}
	tried[c.what()] = t
	s := readScreen(c.Before.UISpec)
	at(p.met, s.stage)[c.Tool] = true
	return s
}

// at is the map within a map, made if need be.
func at[K, L comparable, V any](m map[K]map[L]V, key K) map[L]V {
	if m[key] == nil {
		m[key] = map[L]V{}
	}
	return m[key]
}
