package model

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Bounds on the texts by which output is recognised in the context of a handover.
const (
	mostWords  = 16 << 10 // bytes kept of a turn
	leastWords = 8        // runes of a text that shows where it comes from
	shingle    = 4        // runes that two texts have in common if one may have been shortened or reworded
)

// speech is the text of a turn's output.
type speech struct {
	texts []string
	size  int
	cut   bool // some of it was dropped

	first, last int // the records of its agent's first and latest output
}

func (w *speech) add(d Message) {
	if w.last = d.N; w.first == 0 {
		w.first = d.N
	}
	for _, text := range textsOf(d.Payload) {
		if w.size += len(text); w.size > mostWords {
			w.cut = true
			return
		}
		w.texts = append(w.texts, text)
	}
}

// textsOf returns the texts within a value, without the names of members.
func textsOf(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, textsOf(e)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, textsOf(v[name])...)
		}
	}
	return out
}

// judgeAttached judges the output in the context of a handover where no mark shows where it comes from. Only one case
// is certain: it has, word for word, what was said in another turn than the latest of the agent that hands over, and
// nothing of what that agent said last. Any other context may be a summary.
func (m *Model) judgeAttached(h *handover, p Message) {
	latest, known := m.lastTurns(h)
	if !known || m.hidden {
		return
	}
	context := strings.Join(textsOf([]any{p.Payload, p.Metadata}), "\x00")
	words := fold(context)
	for _, t := range m.order {
		if slices.Contains(latest, t) {
			continue
		}
		for _, text := range t.speech.texts {
			text = strings.TrimSpace(text)
			if !isProse(text) || !strings.Contains(context, text) || m.mayBeQuoted(h, text) {
				continue
			}
			if of := unlike(latest, text); len(of) > 0 && !slices.ContainsFunc(of, func(own string) bool {
				return strings.Contains(words, own)
			}) {
				m.Fail(p, []string{"RT-135"}, "the context with the last output of agent "+h.from+", and not with that of turn "+
					t.id+" of agent "+t.agent, "%s", clip(p.Payload))
				return
			}
		}
	}
}

// lastTurns returns the turns whose output may be the last output of the agent that hands over: the one that it hands
// over, the one in which it had spoken last when it asked, and those in which it has spoken since. It reports whether
// all their output is known.
func (m *Model) lastTurns(h *handover) (latest []*turn, known bool) {
	known = true
	take := func(t *turn) { latest, known = append(latest, t), known && !t.speech.cut }
	var last *turn
	for _, t := range m.order {
		if t.agent != h.from {
			continue
		}
		known = known && (!t.lost || t.faulty)
		switch {
		case t.id == h.asked.Turn || t.speech.first > h.asked.N || t.told > h.asked.N:
			take(t)
		case t.speech.first > 0 && (last == nil || t.speech.last > last.speech.last):
			last = t
		}
	}
	if last != nil {
		take(last)
	}
	return latest, known && len(latest) > 0
}

// mayBeQuoted reports whether a text may have come into the context otherwise than from output: with the request, the
// user's answer or an input.
func (m *Model) mayBeQuoted(h *handover, text string) bool {
	within := func(d Message) bool {
		return slices.ContainsFunc(textsOf([]any{d.Payload, d.Metadata}), func(t string) bool {
			return strings.Contains(t, text)
		})
	}
	return within(h.asked) || within(h.confirmed) && !within(h.prompt) ||
		slices.ContainsFunc(m.inputs, func(in *input) bool { return within(in.said) })
}

// isProse reports whether a text is long enough to be recognised, and something that was said rather than an id, a date
// or the name of a type.
func isProse(text string) bool {
	return len([]rune(text)) >= leastWords && strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
	})
}

// fold returns a text without what a copy of it may change: upper case, and the kind of white space.
func fold(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// unlike returns every part of what was said in some turns that is not in another text, folded, and within
// a word.
func unlike(turns []*turn, other string) (out []string) {
	other = fold(other)
	for _, t := range turns {
		all := []rune(fold(strings.Join(t.speech.texts, "")))
		for i := 0; i+shingle <= len(all); i++ {
			if part := string(all[i : i+shingle]); !strings.Contains(part, " ") && !strings.Contains(other, part) {
				out = append(out, part)
			}
		}
	}
	return out
}
