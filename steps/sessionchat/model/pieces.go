package model

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
)

// inOrder judges that the pieces of an answer arrive complete and in order (SC-020). A target may pass them on one at
// a time, in other portions, as the text so far, or as a whole; each form keeps the order of the model's words.
func (c *Chat) inOrder() verdict.Finding {
	f := verdict.Finding{Clauses: []string{"SC-012", "SC-020"}, At: c.r.N,
		Expected: fmt.Sprintf("%d pieces, all and in order", c.pieces)}
	piece := regexp.MustCompile(`stream ` + regexp.QuoteMeta(c.nonce) + ` (\d+)/` + strconv.Itoa(c.pieces))
	whole, seen := false, 0
	for _, kind := range []string{vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage} {
		said := c.saidIn(kind)
		got, ok := sequence(piece, said, kind == vocab.StreamMessage)
		seen = max(seen, len(got))
		switch {
		case kind == vocab.ResultMessage: // it may have any summary
			whole = whole || ok && len(got) == c.pieces
		case !ok:
			f.Observed = fmt.Sprintf("in %s messages, in this order: %v", kind, short(got))
			return f
		case len(got) > 0 && len(got) < c.pieces && !cumulative(said):
			f.Observed = fmt.Sprintf("in %s messages only %d: %v", kind, len(got), short(got))
			return f
		default:
			whole = whole || len(got) == c.pieces
		}
	}
	if !whole {
		f.Observed = fmt.Sprintf("not all of them: %d in the messages of one type at most", seen)
		return f
	}
	return verdict.Finding{Clauses: f.Clauses, OK: true, At: c.result.r.N}
}

// unchanged judges that the model's words reach the client unchanged (SC-020) if they are known: an echo of the chat.
func (c *Chat) unchanged() verdict.Finding {
	f := verdict.Finding{Clauses: []string{"SC-020"}, At: c.result.r.N}
	want, heard := c.text(vocab.Content), ""
	for _, kind := range []string{vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage} {
		said := c.saidIn(kind)
		for _, glue := range []string{"", "\n"} {
			if whole := strings.Join(said, glue); strings.Contains(whole, want) {
				f.OK = true
				return f
			} else if whole != "" && heard == "" {
				heard = whole
			}
		}
	}
	f.Expected, f.Observed = "client "+c.r.Conn+" receives "+Excerpt(want, heard), Excerpt(heard, want)
	return f
}

// Excerpt quotes a text from shortly before the place where it differs from another.
func Excerpt(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from, to := max(0, i-20), min(len(a), i+60)
	return fmt.Sprintf("%d bytes, from byte %d: %q", len(a), from, a[from:to])
}

// saidIn returns the texts of a turn's messages of one type. If some stream messages have their text where the
// profile says, those without are of another kind.
func (c *Chat) saidIn(kind string) []string {
	var all, placed []string
	for _, msg := range c.heard {
		if msg.kind != kind {
			continue
		}
		all = append(all, msg.text(vocab.Text))
		if msg.data[vocab.Piece] != nil {
			placed = append(placed, msg.text(vocab.Text))
		}
	}
	if len(placed) > 0 {
		return placed
	}
	return all
}

// sequence reads the numbers of the pieces from a list of texts, and reports whether they count up from one:
// concatenated, each as the text so far, or concatenated and then once more as a whole.
func sequence(piece *regexp.Regexp, said []string, portions bool) ([]int, bool) {
	if len(said) == 0 {
		return nil, true
	}
	glue := "\n"
	if portions {
		glue = "" // a portion may end anywhere, even inside a piece
	}
	last := numbers(piece, said[len(said)-1])
	switch all := numbers(piece, strings.Join(said, glue)); {
	case counts(all):
		return all, true
	case counts(last) && (cumulative(said) || !portions && growing(piece, said)):
		return last, true
	case !portions && counts(numbers(piece, strings.Join(said, ""))):
		return numbers(piece, strings.Join(said, "")), true
	case len(all) == 2*len(last) && counts(last) && counts(all[:len(last)]):
		return last, true
	default:
		return all, false
	}
}

// counts reports whether numbers count up from one.
func counts(list []int) bool {
	for i, n := range list {
		if n != i+1 {
			return false
		}
	}
	return true
}

// cumulative reports whether each text extends the previous one.
func cumulative(said []string) bool {
	for i := 1; i < len(said); i++ {
		if len(said[i]) <= len(said[i-1]) || !strings.HasPrefix(said[i], said[i-1]) {
			return false
		}
	}
	return len(said) > 1
}

// growing is cumulative based on the pieces: a whole message may contain more than the model's words.
func growing(piece *regexp.Regexp, said []string) bool {
	last := 0
	for _, text := range said {
		got := numbers(piece, text)
		if !counts(got) || len(got) < last {
			return false
		}
		last = len(got)
	}
	return true
}

func numbers(piece *regexp.Regexp, said string) []int {
	var out []int
	for _, m := range piece.FindAllStringSubmatch(said, -1) {
		n, _ := strconv.Atoi(m[1])
		out = append(out, n)
	}
	return out
}

func short(list []int) []int { return list[:min(len(list), 20)] }
