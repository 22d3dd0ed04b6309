package passive

import (
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
)

// ends judges that a turn has one result. A second result directly after the first belongs to the same turn: another
// turn would have output.
func ends(v *traffic) {
	v.each(func(b *table, r transcript.Record) {
		if !received(r) || r.Event.Type != vocab.ResultMessage {
			return
		}
		s := b.mine(r)
		switch {
		case s == nil || s.cut || b.unknown[r.Conn] || !b.opened[r.Conn]:
		case len(s.chats) > 0 && !s.overlaps:
			v.kept(r, "SC-020")
		case len(s.chats) == 0 && s.ended != nil && !s.since:
			v.broken(r, fmt.Sprintf("one result of the turn that ended in record %d", s.ended.N), "SC-020")
		}
	})
}

// pieces judges that the pieces of an answer are in the order of the whole answer, if both were sent: it looks for a
// text with the same letters in another order.
func pieces(v *traffic) {
	v.each(func(b *table, r transcript.Record) {
		if !received(r) || r.Event.Type != vocab.AssistantMessage {
			return
		}
		s := b.mine(r)
		if s == nil || s.overlaps || len(s.chats) != 1 || r.Cut > 0 {
			return
		}
		said, count := "", 0
		for _, a := range s.answers {
			if a.Event.Type == vocab.AssistantMessage || a.Cut > 0 {
				return // several messages: the pieces cannot be assigned to them
			}
			if member(a, "piece") != nil {
				said += text(a, "text")
				count++
			}
		}
		whole := answer(r)
		switch {
		case count < 2 || len(strings.TrimSpace(said)) == 0:
		case strings.TrimSpace(said) == strings.TrimSpace(whole) || strings.Contains(whole, said):
			v.kept(r, "SC-012", "SC-020")
		case len(said) > 8 && letters(said) == letters(whole):
			v.broken(r, fmt.Sprintf("the %d pieces of the turn in the order of the whole answer", count), "SC-012", "SC-020")
		}
	})
}

// answer is the text of a whole answer: its longest string, because the others are names.
func answer(r transcript.Record) string {
	longest := ""
	for _, s := range texts(member(r, "message")) {
		if len(s) > len(longest) {
			longest = s
		}
	}
	return longest
}

func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	}
	return out
}

// letters returns the letters of a text, sorted, without white space.
func letters(s string) string {
	list := []rune(strings.Join(strings.Fields(s), ""))
	slices.Sort(list)
	return string(list)
}

// interrupts judges that an interrupt ends the turn of its agent_id and no other.
func interrupts(v *traffic) {
	asked := map[key]transcript.Record{}
	any := map[string]bool{}
	v.each(func(b *table, r transcript.Record) {
		k := key{r.Conn, text(r, "agent_id")}
		if sent(r) && r.Event.Type == vocab.InterruptType {
			asked[k], any[r.Conn] = r, true
			return
		}
		s := b.mine(r)
		if !received(r) || s == nil || !b.opened[r.Conn] {
			return
		}
		was, cut := asked[k]
		interrupted := r.Event.Type == vocab.ResultMessage && text(r, "subtype") == vocab.Interrupted
		switch {
		case interrupted && cut:
			v.kept(r, "SC-035", "SC-036")
			delete(asked, k)
		case interrupted && any[r.Conn] && !s.overlaps && len(s.chats) > 0:
			v.broken(r, fmt.Sprintf("the turn of agent_id %q, which nobody interrupted, continues", k.agent), "SC-036")
		case denies(r) && cut && was.N > 0 && s.begun && !s.overlaps:
			v.broken(r, fmt.Sprintf("the interrupt of record %d is accepted", was.N), "SC-035")
		}
	})
}
