package causes

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Kind returns what stays of an expectation or an observation when it is found in another scenario, over another
// driver, by another tool or with other parameters. It replaces record numbers and times, quoted values, ids, numbers
// and parties by "#", and leaves out the content of objects and lists, and what else was published.
//
// Values of members that are named as codes stay, as does the status of an HTTP answer: they tell deviations apart.
func Kind(text string) string {
	text = strings.ReplaceAll(text, repeated, "")
	for _, cut := range contexts {
		text, _, _ = strings.Cut(text, cut)
	}
	if strings.Contains(text, " ms, record ") {
		text = sighting.ReplaceAllString(text, "")
	}
	text = withoutData(text)
	if strings.ContainsAny(text, "\"“「`'") {
		text = quoted.ReplaceAllString(text, "#")
	}
	text = party.ReplaceAllString(plainWords(text), "$1 #")
	if strings.Contains(text, "(") {
		text = named.ReplaceAllString(text, "(#)")
	}
	if strings.Contains(text, "#,") || strings.Contains(text, "# ") {
		text = series.ReplaceAllString(text, "#")
	}
	return strings.Join(strings.Fields(text), " ")
}

// repeated says that a finding is of the run in which its scenario was repeated alone (package runner): it is the same
// deviation.
const repeated = "; that was in the repeated run of its own"

// contexts begin what a text tells beside the deviation: it differs from scenario to scenario.
var contexts = []string{"; its messages: ", "; published: ", "; nothing was published", "; on its stderr: ",
	"; received: ", "; it wrote: "}

var (
	sighting = regexp.MustCompile(`\s+\+\d+(\.\d+)? ms, record \d+`)
	quoted   = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|“[^”]*”|「[^」]*」|`[^`]*`|'[^' ]*'")
	code     = regexp.MustCompile(`"(\w*[cC]ode)":"([\w-]{1,60})"`)
	party    = regexp.MustCompile(`\b(client|agent|session|connection|page) [A-Z]\b`)
	named    = regexp.MustCompile(`\([\w-]+\)`)
	status   = regexp.MustCompile(`HTTP [1-5]\d\d`)
	series   = regexp.MustCompile(`#(,? (and |or )?#)+`)
)

// plainWords replaces each word that looks like an id by "#": one with a digit, or one that ends in a single letter
// behind a hyphen.
func plainWords(text string) string {
	var b strings.Builder
	done, start := 0, -1
	word := func(end int) {
		if w := text[start:end]; isID(w) {
			b.WriteString(text[done:start])
			b.WriteByte('#')
			done = end
		}
		start = -1
	}
	for i, r := range text {
		within := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		switch {
		case start < 0 && within:
			start = i
		case start >= 0 && !within && r != '-':
			word(i)
		}
	}
	if start >= 0 {
		word(len(text))
	}
	return b.String() + text[done:]
}

// isID reports whether a word looks like an id. The status of an HTTP answer does not.
func isID(w string) bool {
	if strings.HasPrefix(w, "HTTP_") {
		return false
	}
	n := len(w)
	return strings.ContainsFunc(w, unicode.IsNumber) || n > 2 && w[n-2] == '-' && w[n-1] >= 'a' && w[n-1] <= 'z'
}

// withoutData replaces each object and list by braces with the codes inside. One that was shortened has no end.
func withoutData(text string) string {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "{[")
		if at < 0 {
			break
		}
		end := endOf(text[at:])
		b.WriteString(statusKept(text[:at]))
		b.WriteByte('{')
		var codes []string
		if data := text[at : at+end]; strings.Contains(data, `ode":"`) {
			for _, m := range code.FindAllStringSubmatch(data, -1) {
				codes = append(codes, m[1]+" "+m[2])
			}
		}
		slices.Sort(codes)
		b.WriteString(strings.Join(slices.Compact(codes), " "))
		b.WriteByte('}')
		text = text[at+end:]
	}
	return b.String() + statusKept(text)
}

// statusKept protects the status of an HTTP answer from being taken for a number.
func statusKept(text string) string {
	if !strings.Contains(text, "HTTP ") {
		return text
	}
	return status.ReplaceAllStringFunc(text, func(s string) string { return strings.Replace(s, " ", "_", 1) })
}

// endOf returns the length of the object or list that text begins with; without an end, that of text.
func endOf(text string) int {
	depth, inside := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
