package lang

import (
	"cmp"
	_ "embed"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// A phrase is a text of ours that results hold, or that is printed of a target, with its Chinese: a reason, an
// expectation, what was observed. {} stands for what varies, which is translated in its turn, and {w} for one word, or
// one quotation; the Chinese has the parts as {}, in the order of the English, or by number as {1}.
type phrase struct {
	english, chinese string
	literals         []string // the English between its parts
	words            []bool   // of each part: it is one word
	weight           int      // number of bytes in the literals
}

//go:embed phrases.zh.yaml
var phrasesYAML []byte

// phrases are all phrases: those that begin with a text before those that begin with a part, and the one with the most
// text first. Of two that fit, the first says more.
var phrases = sync.OnceValue(func() []phrase {
	var table map[string]string
	if err := yaml.UnmarshalWithOptions(phrasesYAML, &table, yaml.Strict()); err != nil {
		panic("embedded phrases: " + err.Error())
	}
	var out []phrase
	for english, chinese := range table {
		p := phrase{english: english, chinese: chinese, literals: strings.Split(anyPart.Replace(english), "{}")}
		for _, part := range partMark.FindAllString(english, -1) {
			p.words = append(p.words, part == "{w}")
		}
		for _, text := range p.literals {
			p.weight += len(text)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b phrase) int {
		open := func(p phrase) int { return min(1, len(p.literals[0])) }
		return cmp.Or(open(b)-open(a), b.weight-a.weight, strings.Compare(a.english, b.english))
	})
	return out
})

var (
	anyPart  = strings.NewReplacer("{w}", "{}")
	partMark = regexp.MustCompile(`\{w?\}`)
)

// exact has the phrases without parts, by their English.
var exact = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, p := range phrases() {
		if len(p.literals) == 1 {
			out[p.english] = p.chinese
		}
	}
	return out
})

// parts returns what a text has for the parts of a phrase; ok reports whether it is the phrase.
func (p phrase) parts(text string) (out []string, ok bool) {
	if len(p.literals) == 1 || !strings.HasPrefix(text, p.literals[0]) {
		return nil, false
	}
	text = text[len(p.literals[0]):]
	last := p.literals[len(p.literals)-1]
	for _, next := range p.literals[1 : len(p.literals)-1] {
		part, rest, found := cutOutside(text, next)
		if !found || part == "" {
			return nil, false
		}
		out, text = append(out, part), rest
	}
	part, found := strings.CutSuffix(text, last)
	if out = append(out, part); !found || part == "" {
		return nil, false
	}
	for i, word := range p.words {
		if word && strings.Contains(out[i], " ") && !(out[i][0] == '"' && endsWithin(out[i])) {
			return nil, false
		}
	}
	return out, true
}

// fill returns the Chinese of a phrase with its parts.
func (p phrase) fill(parts []string) string {
	out := p.chinese
	for i, part := range parts {
		if by := fmt.Sprintf("{%d}", i+1); strings.Contains(out, by) {
			out = strings.ReplaceAll(out, by, part)
			continue
		}
		out = strings.Replace(out, "{}", part, 1)
	}
	return out
}

// Of returns a text of ours that a results file holds, such as a reason, in the language: as a whole, or line by line
// and clause by clause, at its semicolons. What is not ours stays as it is.
func (l Lang) Of(text string) string {
	if l != Chinese || text == "" || strings.ContainsRune(`"{[`, rune(text[0])) && endsWithin(text) {
		return text
	}
	if t, ok := exact()[text]; ok {
		return t
	}
	for _, between := range [][2]string{{"\n", "\n"}, {"; ", "；"}} {
		list := splitOutside(text, between[0])
		if len(list) == 1 {
			continue
		}
		ours := false
		for i, part := range list {
			list[i] = l.Of(part)
			ours = ours || list[i] != part
		}
		if ours {
			return strings.Join(list, between[1])
		}
	}
	if list, ok := l.ofList(text); ok {
		return list
	}
	if told, ok := l.ofPhrase(text, true); ok {
		return told
	}
	of, said, isSaid := strings.Cut(text, ": ")
	if told, known := exact()[of]; isSaid && known {
		return told + "：" + l.Of(said)
	}
	if told, ok := l.ofPhrase(text, false); ok {
		return told
	}
	if isSaid && !strings.Contains(of, " ") { // a place in a file, a scenario
		if told := l.Of(said); told != said {
			return of + "：" + told
		}
	}
	return text
}

// ofList translates a list of which every part is a text, or nearly so, that ends in a bracket: records, options.
func (l Lang) ofList(text string) (told string, ok bool) {
	list, ends := splitOutside(text, ", "), false
	if len(list) == 1 {
		return "", false
	}
	for i, part := range list {
		if !strings.HasSuffix(part, ")") && !strings.HasPrefix(part, `"`) {
			return "", false
		}
		ends = ends || strings.HasSuffix(part, ")")
		list[i] = l.Of(part)
	}
	return strings.Join(list, "、"), ends
}

// ofPhrase translates a text that is one of the phrases with parts, either those that open with a text or the others.
func (l Lang) ofPhrase(text string, opened bool) (told string, ok bool) {
	for _, p := range phrases() {
		if (p.literals[0] != "") != opened {
			continue
		}
		if parts, ok := p.parts(text); ok {
			for i := range parts {
				parts[i] = l.Of(parts[i])
			}
			return p.fill(parts), true
		}
	}
	return "", false
}

// splitOutside splits a text at a separator that is neither quoted nor within brackets. A line break is one anywhere.
func splitOutside(text, sep string) (out []string) {
	if sep == "\n" || !strings.Contains(text, sep) {
		return strings.Split(text, sep)
	}
	from := 0
	for i, depth := range depths(text) {
		if depth == 0 && i >= from && strings.HasPrefix(text[i:], sep) {
			out, from = append(out, text[from:i]), i+len(sep)
		}
	}
	return append(out, text[from:])
}

// cutOutside cuts a text at the first occurrence of a separator that is not quoted; at any, if the text ends within
// what it quotes, because it was shortened.
func cutOutside(text, sep string) (before, after string, found bool) {
	for i, depth := range depths(text) {
		if depth < quotes && strings.HasPrefix(text[i:], sep) {
			return text[:i], text[i+len(sep):], true
		}
	}
	if shortened := strings.Count(text, `"`)%2 == 1; !shortened {
		return text, "", false
	}
	return strings.Cut(text, sep)
}

// endsWithin reports whether the bracket or quote that a text begins with ends with the text.
func endsWithin(text string) bool {
	for i, depth := range depths(text) {
		if i > 0 && depth == 0 {
			return false
		}
	}
	return true
}

// quotes is the depth of what is quoted, beyond any number of brackets.
const quotes = 1 << 20

// depths yields the position of each byte of a text with the number of brackets around it, and quotes within quotation
// marks. A bracket or mark at the begin counts as inside, and so does the one at the end.
func depths(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		depth, quoted := 0, false
		for i := 0; i < len(text); i++ {
			c := text[i]
			opens := !quoted && strings.IndexByte("{[(", c) >= 0
			if opens {
				depth++
			}
			if c == '"' && !quoted {
				quoted, opens = true, true
			}
			at := depth
			if quoted {
				at = quotes
			}
			if !yield(i, at) {
				return
			}
			switch {
			case quoted && c == '\\':
				i++
			case quoted && c == '"' && !opens:
				quoted = false
			case !quoted && strings.IndexByte("}])", c) >= 0:
				depth = max(depth-1, 0)
			}
		}
	}
}

// Phrases returns the English of all phrases, with {} for what varies; sorted.
func Phrases() (out []string) {
	for _, p := range phrases() {
		out = append(out, p.english)
	}
	slices.Sort(out)
	return out
}
