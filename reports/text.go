package reports

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/reports/lang"
)

// validUTF8 replaces every byte that is not UTF-8 by \xNN.
func validUTF8(s string) string { return escapeRunes(s, func(rune) bool { return true }) }

// makeVisible makes a text from the wire safe for a terminal, XML and HTML: characters without a glyph (control
// characters, bidirectional marks, a BOM, bytes that are not UTF-8) are written as Go escapes. Line breaks and tabs
// stay.
func makeVisible(s string) string {
	return escapeRunes(s, func(r rune) bool { return unicode.IsGraphic(r) || r == '\n' || r == '\t' })
}

// oneLine is visible for a text that must stay on one line.
func oneLine(s string) string { return escapeRunes(s, unicode.IsGraphic) }

// escapeRunes writes every rune that keep rejects, and every byte that is not UTF-8, as a Go escape.
func escapeRunes(s string, keep func(rune) bool) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && size == 1
		if bad || !keep(r) {
			b.WriteString(s[done:i])
			b.WriteString(escapeRune(r, s[i], bad))
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func escapeRune(r rune, b byte, bad bool) string {
	switch {
	case bad:
		return fmt.Sprintf(`\x%02x`, b)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// sgr matches a terminal colour code; servers that log in colour send it.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// makePresentable returns a copy of r in which every text is visible. The writers for people start from it, so that no
// text contains a byte that their format cannot represent.
func makePresentable(r *Results) *Results {
	c := *r
	c.Runs = make([]Run, len(r.Runs))
	for i, run := range r.Runs {
		run.TargetStderr = strings.ReplaceAll(sgr.ReplaceAllString(run.TargetStderr, ""), "\r\n", "\n")
		c.Runs[i] = run
	}
	out := mapTexts(reflect.ValueOf(c), makeVisible).Interface().(Results)
	return &out
}

// makeLocalized is presentable for readers of a language: what the suite says is in it (Clause.TextIn, lang.Lang.Of).
// Source is empty where it would repeat the text.
func makeLocalized(r *Results, l lang.Lang) *Results {
	r = makePresentable(r)
	if l == "" || l == lang.English {
		return r
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		run.Environment = l.Of(run.Environment)
		for j := range run.Notes {
			run.Notes[j].Text = l.Of(run.Notes[j].Text)
		}
		for j := range run.Clauses {
			c := &run.Clauses[j]
			if c.Reason = l.Of(c.Reason); c.Excluded && c.ReasonZH != "" {
				c.Reason = l.Of("excluded: " + c.ReasonZH)
			}
			if c.Text = c.TextIn(l); c.Text == c.Source {
				c.Source = ""
			}
		}
		for j := range run.Scenarios {
			localizeScenario(&run.Scenarios[j], l)
		}
	}
	return r
}

// localizeScenario puts what the suite says of a scenario in a language, but for its failures, which views tell
// (failure_view.go).
func localizeScenario(s *Scenario, l lang.Lang) {
	s.Reason = l.Of(s.Reason)
	for k := range s.Clauses {
		s.Clauses[k].Reason = l.Of(s.Clauses[k].Reason)
	}
	for k := range s.Notes {
		s.Notes[k] = l.Of(s.Notes[k])
	}
	for k := range s.Steps {
		s.Steps[k].Error = l.Of(s.Steps[k].Error)
	}
	s.Rule = RuleIn(s.Rule, l)
}

// originalRule matches the sentence of the source document, in a rule that has it behind the English.
var originalRule = regexp.MustCompile(`(?s) — (.*)$| \((.*)\)$`)

// RuleIn returns the rule of a scenario in a language: rules are in English, with the sentence of the source document
// behind it. It is empty where that is in another language.
func RuleIn(rule string, l lang.Lang) string {
	if l != lang.Chinese {
		return rule
	}
	if m := originalRule.FindStringSubmatch(rule); m != nil {
		rule = m[1] + m[2]
	}
	if !l.Native(rule) {
		return ""
	}
	return rule
}

// mapTexts returns a deep copy of v with f applied to every string, including map keys.
func mapTexts(v reflect.Value, f func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(f(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(mapTexts(v.Elem(), f))
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mapTexts(v.Index(i), f))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for k, e := range v.Seq2() {
			out.SetMapIndex(mapTexts(k, f), mapTexts(e, f))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(mapTexts(v.Field(i), f))
			}
		}
	default:
		out.Set(v)
	}
	return out
}
