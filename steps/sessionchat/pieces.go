package sessionchat

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
)

// inOrder judges that the pieces of an answer come whole and in order (SC-020). A target may pass them on one by one, in
// other portions, as the text so far, or as one whole; each of these is an order of the model's words.
func (s *suite) inOrder(name string) error {
	t := s.session(name).turn()
	if t == nil || t.pieces == 0 {
		return steps.NotTestedf("no turn of %s has pieces", name)
	}
	piece := regexp.MustCompile(`stream ` + regexp.QuoteMeta(t.nonce) + ` (\d+)/` + strconv.Itoa(t.pieces) + ` `)
	whole, seen := false, 0
	for _, kind := range []string{vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage} {
		var run strings.Builder
		last := 0
		for _, r := range s.Between(t.client, t.mark, 0) {
			if !ofSession(t.of, kind)(&r) {
				continue
			}
			said := text(&r, inText)
			found := numbers(piece, said+" ")
			seen += len(found)
			if len(found) > 0 && found[0] == 1 && last > 0 { // the text so far, again
				run.Reset()
			}
			if len(found) > 0 {
				last = found[len(found)-1]
			}
			run.WriteString(said)
			if kind != vocab.StreamMessage {
				run.WriteByte(' ')
			}
		}
		got := numbers(piece, run.String()+" ")
		for i, n := range got {
			if n != i+1 && kind == vocab.ResultMessage {
				got = nil // a result may sum up as it likes
				break
			}
			if n != i+1 {
				return s.outOfOrder(t, fmt.Sprintf("in %s messages, piece %d in place %d: %v", kind, n, i+1, short(got)), t.mark)
			}
		}
		whole = whole || len(got) == t.pieces
	}
	if !whole {
		return s.outOfOrder(t, fmt.Sprintf("not all of them: %d pieces seen, and none of its messages, nor all of one type, has the whole", seen), t.mark)
	}
	return s.Judge(steps.Check{Clauses: []string{"SC-012", "SC-020"}, OK: true, At: t.end.N})
}

func (s *suite) outOfOrder(t *turn, observed string, at int) error {
	return s.Judge(steps.Check{Clauses: []string{"SC-012", "SC-020"}, Expected: fmt.Sprintf("%d pieces, all and in order", t.pieces), Observed: observed, At: at})
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
