package passive

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	judge "parley/steps/sessionruntime/model"
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
}

func (w *speech) add(payload any) {
	for _, text := range textsOf(payload) {
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

// judgeAttached judges the output in the context of a handover. Only one case is certain: it has, word for word, what
// was said in another turn than the latest ones of the agent that hands over, and nothing of what that agent said last.
// Any other context may be a summary.
func (s *session) judgeAttached(h *transfer, p judge.Message) {
	latest, known := s.latestOf(h)
	if !known || s.hidden {
		return
	}
	context := strings.Join(textsOf([]any{p.Payload, p.Metadata}), "\x00")
	words := fold(context)
	for _, t := range s.order {
		if slices.Contains(latest, t) {
			continue
		}
		for _, text := range t.speech.texts {
			text = strings.TrimSpace(text)
			if !isProse(text) || !strings.Contains(context, text) || s.mayBeQuoted(h, text) {
				continue
			}
			if of := unlike(latest, text); len(of) > 0 && !slices.ContainsFunc(of, func(own string) bool {
				return strings.Contains(words, own)
			}) {
				s.broken(handovers, p, "the context with the last output of agent "+h.From+", and not with that of turn "+
					t.id+" of agent "+t.agent, "RT-135")
				return
			}
		}
	}
}

// latestOf returns the turns whose output may be the last output of the agent that hands over: the one that it hands
// over, the one in which it had spoken last when it asked, and those in which it has spoken since. It reports whether
// all their output is known.
func (s *session) latestOf(h *transfer) (latest []*turn, known bool) {
	known = true
	take := func(t *turn) { latest, known = append(latest, t), known && !t.speech.cut }
	var last *turn
	for _, t := range s.order {
		if t.agent != h.From {
			continue
		}
		known = known && (!t.lost || t.fault > 0)
		switch {
		case t.id == h.Turn || t.said.N > h.N || t.told > h.N:
			take(t)
		case t.said.N > 0 && (last == nil || t.spoken > last.spoken):
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
func (s *session) mayBeQuoted(h *transfer, text string) bool {
	within := func(m judge.Message) bool {
		return slices.ContainsFunc(textsOf([]any{m.Payload, m.Metadata}), func(t string) bool {
			return strings.Contains(t, text)
		})
	}
	return within(h.Message) || within(h.confirmed) && !within(h.prompt) ||
		slices.ContainsFunc(slices.Concat(s.inputs, s.routed), func(in *input) bool { return within(in.Message) })
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
