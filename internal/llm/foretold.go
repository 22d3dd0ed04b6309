package llm

import (
	"context"
	"errors"
	"strings"
)

// foretoldMax is the longest answer that is foretold, in bytes.
const foretoldMax = MaxText

// Foretold returns the whole answer to a user text with directives, with its holds released; "" if that depends on more
// than the text, as after a failure, a tool call or a recall, or if it is longer than MaxText bytes.
func Foretold(text string) string {
	t := turnOf([]Message{{Role: RoleUser, Text: text}})
	if len(t.directives) == 0 {
		return ""
	}
	for _, d := range t.directives {
		if d.Kind == KindTool || d.Kind == KindFail || d.Kind == KindRecall || d.Count > foretoldMax {
			return ""
		}
	}
	var said strings.Builder
	open := newGates(len(t.directives) + 1)
	for _, d := range t.directives {
		open.release(d.Nonce)
	}
	err := t.answer(&voice{ctx: context.Background(), gates: open, emit: func(p Part) error {
		if said.Len()+len(p.Text) > foretoldMax {
			return errTooLong
		}
		said.WriteString(p.Text)
		return nil
	}})
	if err != nil {
		return ""
	}
	return said.String()
}

var errTooLong = errors.New("the answer is too long to be foretold")
