package llm

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of a Directive.
const (
	KindHold   = "hold"
	KindStream = "stream"
	KindTool   = "tool"
	KindFail   = "fail"
	KindEcho   = "echo"
	KindRecall = "recall"
)

// MaxParts is the largest count of a stream directive, MaxNonce the longest nonce in bytes, MaxHold the longest time of
// a hold. Directives that exceed them are treated as text.
const (
	MaxParts = 1_000_000
	MaxNonce = 128
	MaxHold  = time.Hour
)

// Directive is one order to the brain. The fields that its kind does not use are zero.
type Directive struct {
	Kind   string // one of the Kind constants
	Nonce  string
	Count  int    // of stream
	Name   string // of tool
	Args   string // of tool: the JSON object as written, "{}" without one
	Status int    // of fail

	For time.Duration // of hold: after which it is released by itself; 0: never
}

// Directives returns the directives in a text, in order. Blanks between the words and capitals in the kind do not
// matter. The arguments of a tool directive end where their JSON value ends, so they may contain "]]". A nonce and a
// name contain neither blanks nor square brackets. Malformed directives are skipped.
func Directives(text string) []Directive {
	var found []Directive
	for {
		start := strings.Index(text, "[[")
		if start < 0 {
			return found
		}
		if d, rest, ok := parseDirective(text[start+2:]); ok {
			found = append(found, d)
			text = rest
			continue
		}
		text = text[start+1:]
	}
}

// parseDirective reads a directive after its opening brackets, and returns the text after the closing ones.
func parseDirective(text string) (d Directive, rest string, ok bool) {
	kind, text := readWord(text)
	nonce, text := readWord(text)
	if nonce == "" || len(nonce) > MaxNonce {
		return d, "", false
	}
	d = Directive{Kind: strings.ToLower(kind), Nonce: strings.Clone(nonce)}
	switch d.Kind {
	case KindEcho, KindRecall:
		ok = true
	case KindHold:
		d.For, text, ok = readDuration(text)
	case KindStream:
		d.Count, text, ok = readNumber(text, 1, 0, MaxParts)
	case KindFail:
		d.Status, text, ok = readNumber(text, 500, 400, 599)
	case KindTool:
		d.Name, d.Args, text, ok = readCall(text)
	}
	if !ok {
		return d, "", false
	}
	rest, ok = strings.CutPrefix(skipBlanks(text), "]]")
	return d, rest, ok
}

// readWord reads up to a blank or a square bracket.
func readWord(text string) (w, rest string) {
	text = skipBlanks(text)
	end := strings.IndexFunc(text, func(c rune) bool { return c == '[' || c == ']' || unicode.IsSpace(c) })
	if end < 0 {
		return "", ""
	}
	return text[:end], text[end:]
}

// readNumber reads an optional decimal number between low and high.
func readNumber(text string, absent, low, high int) (n int, rest string, ok bool) {
	w, rest := readWord(text)
	if w == "" {
		return absent, rest, true
	}
	n, err := strconv.Atoi(w)
	return n, rest, err == nil && low <= n && n <= high
}

// readDuration reads an optional time, such as 2s.
func readDuration(text string) (d time.Duration, rest string, ok bool) {
	w, rest := readWord(text)
	if w == "" {
		return 0, rest, true
	}
	d, err := time.ParseDuration(w)
	return d, rest, err == nil && 0 < d && d <= MaxHold
}

// Malformed returns the parts of a text that look like directives but are text, each cut at 80 bytes: two brackets,
// a word of letters, and two brackets in the end. It helps whoever wrote them; the brain answers as ever.
func Malformed(text string) (found []string) {
	for {
		start := strings.Index(text, "[[")
		if start < 0 {
			return found
		}
		text = text[start:]
		if _, rest, ok := parseDirective(text[2:]); ok {
			text = rest
			continue
		}
		kind, _ := readWord(text[2:])
		end := strings.Index(text, "]]")
		if end > 0 && kind != "" && !strings.ContainsFunc(kind, func(c rune) bool { return !unicode.IsLetter(c) }) {
			found = append(found, strings.ToValidUTF8(text[:min(end+2, 80)], ""))
		}
		text = text[1:]
	}
}

// readCall reads the name of a tool and, optionally, its arguments.
func readCall(text string) (name, args, rest string, ok bool) {
	text = skipBlanks(text)
	end := strings.IndexFunc(text, func(c rune) bool { return strings.ContainsRune("[]{", c) || unicode.IsSpace(c) })
	if end <= 0 {
		return "", "", "", false
	}
	name, rest = strings.Clone(text[:end]), skipBlanks(text[end:])
	if !strings.HasPrefix(rest, "{") {
		return name, "{}", rest, true
	}
	// Duplicate names are passed on: a scenario may be about an odd call.
	d := jsontext.NewDecoder(strings.NewReader(rest), jsontext.AllowDuplicateNames(true))
	v, err := d.ReadValue()
	if err != nil {
		return "", "", "", false
	}
	return name, string(v), rest[d.InputOffset():], true
}

func skipBlanks(text string) string { return strings.TrimLeftFunc(text, unicode.IsSpace) }

// nonceList returns the nonces of directives, each once, in order of their first appearance.
func nonceList(directives []Directive) []string {
	var found []string
	seen := make(map[string]bool, len(directives))
	for _, d := range directives {
		if !seen[d.Nonce] {
			seen[d.Nonce] = true
			found = append(found, d.Nonce)
		}
	}
	return found
}
