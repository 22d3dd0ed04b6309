package steps

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/cucumber/godog"

	texts "parley/internal/words"
)

// StepPattern renders a step's expression for people: "…" in quotes is text, … stands for anything, X for a word, N
// for a number, (a|b) for one of them, and brackets enclose optional parts.
func StepPattern(expression string) string {
	re, err := syntax.Parse(StepWords(expression), syntax.Perl)
	if err != nil {
		return expression
	}
	return writePattern(re)
}

func writePattern(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCapture:
		return renderGroup(listChoices(re.Sub[0]))
	case syntax.OpAlternate:
		return renderGroup(listChoices(re))
	case syntax.OpConcat:
		return joinParts(re.Sub)
	case syntax.OpQuest:
		text := renderGroup(listChoices(renderBare(re.Sub[0])))
		return "[" + strings.TrimSuffix(strings.TrimPrefix(text, "("), ")") + "]"
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return nameClass(re.Sub[0])
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return nameClass(re)
	}
	return ""
}

// joinParts concatenates parts. The parser factors common prefixes out of alternatives, even within words, so a
// partial word before alternatives goes back into each of them.
func joinParts(parts []*syntax.Regexp) string {
	var out string
	for _, part := range parts {
		if part.Op != syntax.OpAlternate {
			out += writePattern(part)
			continue
		}
		at := strings.LastIndexAny(out, ` "`) + 1
		begun, all := out[at:], listChoices(part)
		for i := range all {
			all[i] = begun + all[i]
		}
		out = out[:at] + renderGroup(all)
	}
	return out
}

// listChoices returns the alternatives of an expression, in full.
func listChoices(re *syntax.Regexp) []string {
	switch {
	case re.Op == syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, listChoices(sub)...)
		}
		return all
	case re.Op == syntax.OpConcat && len(re.Sub) > 1 && re.Sub[len(re.Sub)-1].Op == syntax.OpAlternate:
		before := joinParts(re.Sub[:len(re.Sub)-1])
		var all []string
		for _, choice := range listChoices(re.Sub[len(re.Sub)-1]) {
			all = append(all, before+choice)
		}
		return all
	}
	return []string{writePattern(re)}
}

// renderGroup renders alternatives.
func renderGroup(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return "(" + strings.Join(all, "|") + ")"
}

// renderBare renders the content of a group that has no meaning of its own.
func renderBare(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCapture {
		return re.Sub[0]
	}
	return re
}

// wordClasses are the classes that stand for a word, as the ranges that the parser makes of them.
var wordClasses = []string{"09AZ__az", "--09AZ__az", "AZ"}

// nameClass names what a character class stands for. It reads the ranges of the class, as writing out one that leaves
// characters out ([^"]) takes the parser milliseconds.
func nameClass(re *syntax.Regexp) string {
	switch ranges := string(re.Rune); {
	case re.Op != syntax.OpCharClass:
		return "…"
	case ranges == "09":
		return "N"
	case slices.Contains(wordClasses, ranges):
		return "X"
	}
	return "…"
}

// UndefinedError reports that no step of the protocol matches a text, with the closest steps, as StepPattern shows
// them.
type UndefinedError struct {
	Text  string
	Alike []string
}

func (e *UndefinedError) Error() string {
	text := fmt.Sprintf("no step matches %q", e.Text)
	if len(e.Alike) > 0 {
		text += "; similar ones:\n  " + strings.Join(e.Alike, ";\n  ") // it may be put on one line
	}
	return text
}

var (
	quotedText = regexp.MustCompile(`"[^"]*"`)
	oneWord    = regexp.MustCompile(`[\pL\d_]+`)
)

// searchWords returns the words of a step for searching, in lower case, without quoted text.
func searchWords(text string) []string {
	return oneWord.FindAllString(strings.ToLower(quotedText.ReplaceAllString(text, "")), -1)
}

// Alike finds the steps that share most words with a text, the closest first, shorter ones before longer ones, as
// StepPattern shows them: at most n, or all for n = 0. A word also matches words that it begins. Without words it
// returns all steps in their order.
func Alike(expressions []string, text string, n int) []string {
	type hit struct {
		pattern       string
		shared, words int
	}
	wanted := searchWords(text)
	var hits []hit
	for _, expr := range expressions {
		h := hit{pattern: StepPattern(expr)}
		has := searchWords(h.pattern)
		h.words = len(has)
		for _, w := range wanted {
			if slices.ContainsFunc(has, func(other string) bool { return strings.HasPrefix(other, w) }) {
				h.shared++
			}
		}
		if h.shared > 0 || len(wanted) == 0 {
			hits = append(hits, h)
		}
	}
	if len(wanted) > 0 {
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(b.shared-a.shared, a.words-b.words) })
	}
	if n > 0 && len(hits) > n {
		hits = hits[:n]
	}
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.pattern
	}
	return out
}

// Costs of making a step from a text, word by word. A word that is hardly another costs as much as one that is missing.
const (
	wholeWord  = 10
	smallWord  = 4 // what stands for something else, or has at most three letters
	sameWord   = 5 // what a word that is there gains
	choiceWord = 2 // one of a group of choices, or of an optional part
	nearWord   = 5 // words that cost less are the same, one of them mistyped
)

// quotedWord stands for text in quotes, which stands only for such text.
const quotedWord = "0000000"

// patternWord is a word of a step, as StepPattern shows it.
type patternWord struct {
	text string
	any  bool // it stands for something else
	skip int  // what it costs to leave it out
}

// Closest finds the steps of which a text is probably one, mistyped: those that are made from it with the fewest
// changes of words and letters, the closest first, at most n, as StepPattern shows them. Steps that share no word with
// it are left out.
func Closest(expressions []string, text string, n int) []string {
	type hit struct {
		pattern string
		cost    int
	}
	wanted := oneWord.FindAllString(strings.ToLower(quotedText.ReplaceAllString(text, quotedWord)), -1)
	var hits []hit
	for _, expr := range expressions {
		h := hit{pattern: StepPattern(expr)}
		has := patternWords(h.pattern)
		h.cost = wordsApart(wanted, has)
		if slices.ContainsFunc(has, func(p patternWord) bool {
			return !p.any && p.text != quotedWord &&
				slices.ContainsFunc(wanted, func(w string) bool { return wordApart(w, p) < nearWord })
		}) {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.cost, b.cost) })
	var out []string
	for _, h := range hits[:min(n, len(hits))] {
		out = append(out, h.pattern)
	}
	return out
}

// patternWords takes a pattern apart.
func patternWords(pattern string) (out []patternWord) {
	pattern = quotedText.ReplaceAllString(pattern, quotedWord)
	depth := 0
	for at := 0; at < len(pattern); {
		if found := oneWord.FindString(pattern[at:]); found != "" && strings.HasPrefix(pattern[at:], found) {
			p := patternWord{text: strings.ToLower(found), any: found == "X" || found == "N", skip: wholeWord}
			if p.any || found == quotedWord || len(found) <= 3 {
				p.skip = smallWord
			}
			if depth > 0 {
				p.skip = choiceWord
			}
			out, at = append(out, p), at+len(found)
			continue
		}
		switch pattern[at] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		at++
	}
	return out
}

// wordApart is what it costs to make a word of a pattern from a word.
func wordApart(word string, p patternWord) int {
	switch {
	case p.any:
		return 0
	case word == p.text && p.text != quotedWord && len(word) > 3:
		return -sameWord
	case word == p.text:
		return 0
	}
	return min(wholeWord, 2*wholeWord*texts.Distance(word, p.text)/max(len(word), len(p.text)))
}

// wordsApart is what it costs to make a pattern from words.
func wordsApart(wanted []string, has []patternWord) int {
	row := make([]int, len(has)+1)
	for j, p := range has {
		row[j+1] = row[j] + p.skip
	}
	for _, w := range wanted {
		last := slices.Clone(row)
		row[0] += wholeWord
		for j, p := range has {
			row[j+1] = min(last[j]+wordApart(w, p), last[j+1]+wholeWord, row[j]+p.skip)
		}
	}
	return row[len(has)]
}

// compiled caches step expressions: godog registers every step again for each scenario, and compiling them took a third
// of a run's work.
var compiled sync.Map // expression → *regexp.Regexp

// Step registers a step under an expression anchored at both ends; do is a function, or an Adapted. It panics on a
// malformed expression, which is a programming error.
func Step(sc *godog.ScenarioContext, expr string, do any) {
	if list, ok := listing.Load(sc); ok {
		out := list.(*[]Definition)
		*out = append(*out, definitionOf(expr, do))
		return
	}
	if a, ok := do.(Adapted); ok {
		do = a.Do
	}
	re := cachedExpression(expr)
	if h, ok := holding.Load(sc); ok {
		do = h.(*handlerTable).holdHandler(expr, do)
	}
	sc.Step(re, do)
}

// Expression returns a compiled step expression.
func Expression(expr string) *regexp.Regexp { return cachedExpression(expr) }

// cachedExpression returns a compiled expression from the cache.
func cachedExpression(expr string) *regexp.Regexp {
	re, ok := compiled.Load(expr)
	if !ok {
		re, _ = compiled.LoadOrStore(expr, regexp.MustCompile(expr))
	}
	return re.(*regexp.Regexp)
}

// handlerTable has the step handlers of one scenario. godog keeps a step's definition, and with it its handler, until
// all scenarios have run. To free the scenario's world earlier, the definition refers to the handler only by its index
// here.
type handlerTable struct {
	do      []reflect.Value
	exprs   []string // expression of each handler
	world   func() *World
	needs   map[int]func() error // what handlers need of earlier steps; see StepsAfter
	missing func() error         // what those being registered need; nil: nothing
}

// holding maps a scenario to its handlers while its steps are registered.
var holding sync.Map // *godog.ScenarioContext → *handlers

// holdHandler returns a handler that refers to another one only by its index.
func (h *handlerTable) holdHandler(expr string, do any) any {
	f := reflect.ValueOf(do)
	at := len(h.do)
	h.do, h.exprs = append(h.do, f), append(h.exprs, expr)
	if h.missing != nil {
		if h.needs == nil {
			h.needs = map[int]func() error{}
		}
		h.needs[at] = h.missing
	}
	return reflect.MakeFunc(f.Type(),
		func(args []reflect.Value) []reflect.Value { return h.callHandler(at, args) }).Interface()
}

// callHandler runs a handler. Steps between a cut and the party's return do nothing, and the result of a step that was
// running at the cut does not count. Nor does a step run that needs what no earlier step has left.
func (h *handlerTable) callHandler(at int, args []reflect.Value) []reflect.Value {
	cut := func() bool {
		return h.world != nil && h.world() != nil && h.world().isSevered() && h.exprs[at] != comesBack
	}
	var err error
	if !cut() {
		if missing := h.needs[at]; missing != nil {
			err = missing()
		}
		if err == nil {
			out := h.do[at].Call(args)
			if !cut() {
				return out
			}
		}
	}
	return h.zeroResults(at, err)
}

// zeroResults returns the results of a handler that was not executed, with an error if it has one.
func (h *handlerTable) zeroResults(at int, err error) (out []reflect.Value) {
	for _, t := range h.resultTypes(at) {
		v := reflect.New(t).Elem()
		if err != nil && t == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(err))
		}
		out = append(out, v)
	}
	return out
}

// resultTypes returns the types of what a handler returns.
func (h *handlerTable) resultTypes(at int) (out []reflect.Type) {
	for t := range h.do[at].Type().Outs() {
		out = append(out, t)
	}
	return out
}

// dropHandlers drops the handlers, and all else that leads to the scenario's world. No step may run afterwards.
func (h *handlerTable) dropHandlers() {
	clear(h.do)
	h.world, h.needs, h.missing = nil, nil, nil
}
