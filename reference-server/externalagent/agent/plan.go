package agent

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

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
// A call that failed or changed nothing is repeated only once in the same state, after the state has changed in
// between and all new calls were tried. Among calls that changed something, those made less often in the state come
// first, so that no cycle is endless.
type planner struct {
	wishes   wishes
	tried    map[stateKey]map[string]trial // by tool and parameters
	used     map[string]map[string]int     // stage → tool → how often it changed something
	met      map[string]map[string]bool    // stage → tool → called before
	rejected map[string]map[float64]bool   // stage → sums of quantities with which next failed
	chosen   int                           // number of items chosen at the last stage with a choice
	moves    int                           // calls that led to another state
	schemas  schemas
}

// trial records the results of a call in one state.
type trial struct {
	times  int
	futile int
	move   int // value of moves when it was last futile
}

// isOver reports whether the call must not be repeated at the current count of moves.
func (t trial) isOver(moves int) bool { return t.futile > 1 || t.futile == 1 && t.move == moves }

func newPlanner() *planner {
	return &planner{
		tried: map[stateKey]map[string]trial{}, used: map[string]map[string]int{}, met: map[string]map[string]bool{},
		rejected: map[string]map[float64]bool{}, schemas: schemas{},
	}
}

// renewedPlanner returns a planner that keeps only the user's wishes.
func (p *planner) renewedPlanner() *planner {
	n := newPlanner()
	n.wishes = p.wishes
	return n
}

// rank is the priority of a call; the smallest goes first.
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

// Name patterns that give the purpose of a tool.
var (
	choosing  = regexp.MustCompile(`(?i)^(select|choose|pick|add|toggle)`)
	counting  = regexp.MustCompile(`(?i)quantity|count|amount`)
	advancing = regexp.MustCompile(
		`(?i)^(next|confirm|continue|proceed|submit|book|finish|done|check_?out|pay|complete|forward|advance)`)
	returning = regexp.MustCompile(`(?i)^(prev|back|undo|cancel|reset|restart)`)
	decorates = regexp.MustCompile(
		`(?i)^(post_?message|send|message|say|filter|sort|highlight|search|scroll|help|clear|remove|deselect|unselect)`)
)

// candidate is a call with its rank, its past results in this state, and its cost.
type candidate struct {
	Call
	rank   rank
	before trial
	cost   int
}

// candidateCalls returns the calls that make sense in a state, best first.
func (p *planner) candidateCalls(s State) []Call {
	screen := readScreen(s.UISpec)
	screen.items = p.wishes.sortBest(screen.items)
	if screen.quantities == nil && len(screen.chosen) > 0 {
		p.chosen = len(screen.chosen)
	}
	var found []candidate
	for _, t := range s.Tools {
		found = append(found, p.toolCalls(t, screen)...)
	}
	tried := p.tried[keyOf(s)]
	for i := range found {
		c := &found[i]
		c.before = tried[c.callKey()]
		// one repetition is not a cycle yet: the host may have been reset
		if c.cost = c.before.times; c.rank <= chooseMore && c.before.futile == 0 {
			c.cost = max(0, c.cost-1)
		}
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return c.before.isOver(p.moves) })
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.rank, b.rank))
	})
	calls := make([]Call, 0, len(found))
	for _, c := range found {
		calls = append(calls, c.Call)
	}
	return calls
}

// callKey returns a key of a call: its tool and parameters.
func (c Call) callKey() string { return c.Tool + "\n" + canonicalText(c.Params) }

// toolCalls returns the calls of one tool.
func (p *planner) toolCalls(t proto.Tool, s screen) []candidate {
	used := p.used[s.stage][t.Name]
	switch {
	case choosing.MatchString(t.Name):
		return p.choiceCalls(t, s, used)
	case counting.MatchString(t.Name):
		return p.quantityCalls(t, s, used)
	case advancing.MatchString(t.Name):
		return p.schemaCalls(t, s, goOn, "Go on: what this stage asks for is done.")
	case returning.MatchString(t.Name):
		return p.schemaCalls(t, s, goBack, "Go back, as there is no way forward from here.")
	case decorates.MatchString(t.Name):
		found := p.schemaCalls(t, s, asideAgain,
			fmt.Sprintf("Use %s, as there is no way forward without it.", quoteText(t.Name)))
		if len(found) > 0 && !p.met[s.stage][t.Name] {
			found[0].rank = aside
		}
		return found
	}
	found := p.schemaCalls(t, s, unknownAgain, fmt.Sprintf("Try %s in another way, as there is no way forward yet.",
		quoteText(t.Name)))
	if len(found) > 0 && !p.met[s.stage][t.Name] {
		found[0].rank, found[0].Reason = unknownFirst, fmt.Sprintf("Try %s, which is offered at this stage.",
			quoteText(t.Name))
	}
	return found
}

// choiceCalls returns calls that choose an item. The host usually shows whether one is chosen; otherwise the agent
// remembers.
func (p *planner) choiceCalls(t proto.Tool, s screen, used int) (found []candidate) {
	const enough = 3 // choices that the host does not show
	r, why := chooseFirst, "as nothing is chosen at this stage yet"
	if len(s.chosen) > 0 || used > 0 && !s.shows || used >= enough {
		r, why = chooseMore, "as there is no way forward with what is chosen"
	}
	free := slices.DeleteFunc(slices.Clone(s.items), func(i item) bool { return slices.Contains(s.chosen, i.id) })
	for _, params := range p.schemas.paramsFor(t, source{screen: s, items: free}) {
		c := candidate{Call: Call{Tool: t.Name, Params: params}, rank: r}
		i := mentionedItem(params, free)
		switch {
		case i == nil:
			c.Reason = fmt.Sprintf("Make a choice with %s, %s.", quoteText(t.Name), why)
		case !i.available:
			c.rank, c.Reason = hopeless, fmt.Sprintf("Try %s although it looks sold out: nothing else is left.",
				quoteText(i.label))
		case p.wishes.countFits(*i) > 0:
			c.Reason = fmt.Sprintf("Choose %s, which fits what the user asked for, %s.", quoteText(i.label), why)
		default:
			c.Reason = fmt.Sprintf("Choose %s, %s.", quoteText(i.label), why)
		}
		found = append(found, c)
	}
	return found
}

// mentionedItem returns the item whose id is among the parameters; nil if none is.
func mentionedItem(params object, items []item) *item {
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

// quantityCalls returns calls that set an item's quantity so that the sum matches the wanted number.
func (p *planner) quantityCalls(t proto.Tool, s screen, used int) (found []candidate) {
	want := p.wantedSum(s)
	r := setSum
	if s.quantities == nil && used > 0 {
		r = unknownAgain
	} else if s.quantities != nil && s.sumQuantities() == want {
		return nil
	}
	add := func(src source, quantity float64) {
		src.screen, src.quantity = s, &quantity
		for _, params := range p.schemas.paramsFor(t, src) {
			found = append(found, candidate{rank: r, Call: Call{
				Tool: t.Name, Params: params, Reason: fmt.Sprintf("Set a quantity of %g, so that the sum is %g.", quantity, want),
			}})
		}
	}
	for _, i := range s.items {
		had := s.quantities[i.id]
		quantity := max(0, want-(s.sumQuantities()-had))
		if i.available && (quantity != had || s.quantities == nil) {
			add(source{items: []item{i}}, quantity)
		}
	}
	if len(s.items) == 0 {
		add(source{}, want)
	}
	return found
}

// wantedSum returns the sum of quantities to leave a stage with: one per previously chosen thing. If the host rejects
// it, the planner tries neighboring sums, or 1 to 8 if nothing was chosen.
func (p *planner) wantedSum(s screen) float64 {
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

// schemaCalls returns calls of a tool based only on its schema.
func (p *planner) schemaCalls(t proto.Tool, s screen, r rank, reason string) (found []candidate) {
	src := source{screen: s, items: slices.DeleteFunc(slices.Clone(s.items), func(i item) bool { return !i.available })}
	for _, params := range p.schemas.paramsFor(t, src) {
		found = append(found, candidate{Call: Call{Tool: t.Name, Params: params, Reason: reason}, rank: r})
	}
	return found
}

// recordResult records the result of a call.
func (p *planner) recordResult(c Called, after State) {
	effect := showsChange(c.Before, after, c.Tool == proto.PostMessage)
	stage := p.countCall(c, !effect).stage
	if !effect {
		return
	}
	innerMap(p.used, stage)[c.Tool]++
	if keyOf(c.Before) != keyOf(after) {
		p.moves++
	}
}

// recordFailure records a failed call. If the call was to leave a stage, the current sum is rejected for that stage.
func (p *planner) recordFailure(c Called, code string) {
	s := p.countCall(c, true)
	if code == proto.ToolExecutionFailed && s.quantities != nil && advancing.MatchString(c.Tool) {
		innerMap(p.rejected, s.stage)[s.sumQuantities()] = true
	}
}

// countCall counts a call and returns the screen it was made from.
func (p *planner) countCall(c Called, futile bool) screen {
	tried := innerMap(p.tried, keyOf(c.Before))
	t := tried[c.callKey()]
	t.times++
	if futile {
		t.futile, t.move = t.futile+1, p.moves
	}
	tried[c.callKey()] = t
	s := readScreen(c.Before.UISpec)
	innerMap(p.met, s.stage)[c.Tool] = true
	return s
}

// innerMap returns the inner map of a key, creating it if necessary.
func innerMap[K, L comparable, V any](m map[K]map[L]V, key K) map[L]V {
	if m[key] == nil {
		m[key] = map[L]V{}
	}
	return m[key]
}

// wishes are the user's messages. They are matched by word: a word that occurs in an item's label or attributes
// favors the item.
type wishes []wish

type wish struct {
	text  string // in lower case
	words []string
}

// addWish records a message of the user. Only the last messages count.
func (p *planner) addWish(text string) {
	const most, longest = 16, 2000
	text = strings.ToLower(clipText(text, longest))
	p.wishes = append(p.wishes, wish{text, wantedWords(wordsOf(text))})
	if len(p.wishes) > most {
		p.wishes = p.wishes[1:]
	}
}

// wordsOf splits a text into lower-case words.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

// idle words describe no item but may occur in a label.
var idle = []string{"the", "and", "for", "with", "please", "prefer", "want", "would", "like", "choose", "row",
	"seat", "hall", "of", "in", "at", "on", "to", "is", "me", "my", "we", "it"}

// wantedWords drops idle and negated words.
func wantedWords(words []string) (kept []string) {
	for i, w := range words {
		denied := i > 0 && slices.Contains([]string{"no", "not", "without", "never"}, words[i-1])
		if !denied && len(w) > 1 && !slices.Contains(idle, w) {
			kept = append(kept, w)
		}
	}
	return kept
}

// countFits counts the words that favor an item.
func (w wishes) countFits(i item) (n int) {
	for _, word := range slices.Compact(slices.Sorted(slices.Values(i.words))) {
		if slices.ContainsFunc(w, func(w wish) bool { return w.containsWord(word) }) {
			n++
		}
	}
	return n
}

// containsWord reports whether the wish contains the word. In scripts without word separators the word may be any part
// of the text.
func (w wish) containsWord(word string) bool {
	if strings.IndexFunc(word, func(r rune) bool { return r > unicode.MaxLatin1 }) >= 0 && len([]rune(word)) > 1 {
		return strings.Contains(w.text, word)
	}
	return slices.Contains(w.words, word)
}

// sortBest sorts available items first, then by how well they fit the wishes; ties keep the host's order.
func (w wishes) sortBest(items []item) []item {
	type fitting struct {
		item
		n int
	}
	ranked := make([]fitting, 0, len(items))
	for _, i := range items {
		ranked = append(ranked, fitting{i, w.countFits(i)})
	}
	slices.SortStableFunc(ranked, func(a, b fitting) int {
		switch {
		case a.available != b.available && a.available:
			return -1
		case a.available != b.available:
			return 1
		}
		return b.n - a.n
	})
	sorted := make([]item, 0, len(items))
	for _, r := range ranked {
		sorted = append(sorted, r.item)
	}
	return sorted
}
