package llm

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// clip returns a text of at most MaxText bytes. A longer one is cut between characters and ends in a note about the
// cut.
func clip(text string) string {
	if len(text) <= MaxText {
		return text
	}
	note := fmt.Sprintf(" …[clipped from %d bytes]", len(text))
	end := MaxText - len(note)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + note
}

// clipped returns a deep copy of the request with its texts clipped.
func clipped(r Request) Request {
	r = copied(r)
	for _, s := range []*string{&r.API, &r.Model, &r.System} {
		*s = clip(*s)
	}
	for i := range r.Tools {
		r.Tools[i] = clip(r.Tools[i])
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Role, m.Text, m.ResultOf = clip(m.Role), clip(m.Text), clip(m.ResultOf)
		for j := range m.Calls {
			c := &m.Calls[j]
			c.ID, c.Name, c.Arguments = clip(c.ID), clip(c.Name), clip(c.Arguments)
		}
	}
	return r
}

func copied(r Request) Request {
	r.Tools = slices.Clone(r.Tools)
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].Calls = slices.Clone(r.Messages[i].Calls)
	}
	return r
}

// weight estimates the size of a request's record in bytes.
func weight(r Request, nonces []string) int {
	const request, message, call, text = 512, 96, 48, 16
	w := request + len(r.API) + len(r.Model) + len(r.System)
	for _, list := range [][]string{r.Tools, nonces} {
		for _, s := range list {
			w += text + len(s)
		}
	}
	for _, m := range r.Messages {
		w += message + len(m.Role) + len(m.Text) + len(m.ResultOf)
		for _, c := range m.Calls {
			w += call + len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	return w
}
