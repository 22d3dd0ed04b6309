package pack

import (
	"context"
	"slices"

	"parley/internal/expression"
	"parley/steps"
)

// keepsValue keeps the value of an expression on the last message that a client received.
func (s *suite) keepsValue(_ context.Context, name, text, as string) error {
	c := s.client(name)
	v, err := s.latest(c, text)
	switch {
	case err != nil:
		return err
	case v == nil:
		return steps.NotTestedf("no message of client %s has %s", name, text)
	}
	c.kept[as] = v
	return nil
}

// applies ends the scenario as not applicable, unless an expression holds for the last message of a client for which it
// has a value.
func (s *suite) applies(_ context.Context, name, text string) error {
	v, err := s.latest(s.client(name), text)
	switch {
	case err != nil:
		return err
	case v == nil:
		return steps.NotTestedf("no message of client %s says whether %s", name, text)
	case v != true:
		return &steps.NotApplicableError{Reason: "not where " + text}
	}
	return nil
}

// latest returns the value of an expression on the last message of a client for which it has one; nil: on none.
func (s *suite) latest(c *client, text string) (any, error) {
	e, err := expression.Compile(text, s.doc.names(), s.doc.stateMembers)
	if err != nil {
		return nil, err
	}
	s.follow()
	for _, r := range slices.Backward(s.Between(c.name, c.begun, 0)) {
		for _, m := range s.doc.messages(r) {
			if v, err := e.Value(s.model.scopeOf(m)); err == nil && v != nil && !isSpecial(m.kind) {
				return v, nil
			}
		}
	}
	return nil, nil
}
