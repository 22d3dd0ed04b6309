package sessionchat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
)

// inOrder judges that the pieces of an answer arrive complete and in order (SC-020). A target may pass them on one at
// a time, in other portions, as the text so far, or as a whole; each form keeps the order of the model's words.
func (s *suite) inOrder(name string) error {
	t := s.session(name).turn()
	if t == nil || t.pieces == 0 {
		return steps.NotTestedf("no turn of %s has pieces", name)
	}
	piece := regexp.MustCompile(`stream ` + regexp.QuoteMeta(t.nonce) + ` (\d+)/` + strconv.Itoa(t.pieces))
	whole, seen := false, 0
	for _, kind := range []string{vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage} {
		said := s.saidIn(t, kind)
		got, ok := sequence(piece, said, kind == vocab.StreamMessage)
		seen = max(seen, len(got))
		switch {
		case kind == vocab.ResultMessage: // it may have any summary
			whole = whole || ok && len(got) == t.pieces
		case !ok:
			return s.outOfOrder(t, fmt.Sprintf("in %s messages, in this order: %v", kind, short(got)), t.mark)
		case len(got) > 0 && len(got) < t.pieces && !cumulative(said):
			return s.outOfOrder(t, fmt.Sprintf("in %s messages only %d: %v", kind, len(got), short(got)), t.mark)
		default:
			whole = whole || len(got) == t.pieces
		}
	}
	if !whole {
		return s.outOfOrder(t, fmt.Sprintf("not all of them: %d in the messages of one type at most", seen), t.mark)
	}
	return s.pass([]string{"SC-012", "SC-020"}, t.end.N)
}

// receivesUnchanged judges that the model's words reach the client unchanged (SC-020) if they are known: an echo of
// the chat.
func (s *suite) receivesUnchanged(client, name string) error {
	t, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	want, known := t.text.(string)
	if !t.echo || !known {
		return nil
	}
	heard := ""
	for _, kind := range []string{vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage} {
		said := s.saidIn(t, kind)
		for _, glue := range []string{"", "\n"} {
			if whole := strings.Join(said, glue); strings.Contains(whole, want) {
				return s.pass([]string{"SC-020"}, t.end.N)
			} else if whole != "" && heard == "" {
				heard = whole
			}
		}
	}
	expected := "client " + client + " receives " + excerpt(want, heard)
	return s.breach([]string{"SC-020"}, t.end.N, expected, excerpt(heard, want))
}

// saidIn returns the texts of a turn's messages of one type. If some stream messages have their text where the
// profile says, those without are of another kind.
func (s *suite) saidIn(t *turn, kind string) []string {
	var all, placed []string
	for _, r := range s.since(t, kind) {
		all = append(all, text(&r, inText))
		if member(&r, inPiece) != nil {
			placed = append(placed, text(&r, inText))
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

func (s *suite) outOfOrder(t *turn, observed string, at int) error {
	return s.breach([]string{"SC-012", "SC-020"}, at, fmt.Sprintf("%d pieces, all and in order", t.pieces), observed)
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
