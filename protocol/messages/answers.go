package messages

import (
	"slices"
	"strings"
)

// pair says which messages are answers to which others, of the other side of their connection.
type pair struct {
	Types []string          `yaml:"types"` // of the answers; "ERROR *" stands for all types with that prefix
	To    []string          `yaml:"to"`    // types of what they answer
	Same  map[string]string `yaml:"same"`  // members of the answer → those of the other message with the same value

	// Only messages on a socket are answered so: requests of HTTP have the answer of HTTP alone.
	Socket bool `yaml:"socket"`
}

// Awaits reports whether messages of a type are answered by others, on a socket or beside the answers of HTTP. A nil
// Set has no answers.
func (s *Set) Awaits(kind string, socket bool) bool {
	return s != nil && slices.ContainsFunc(s.pairs, func(p pair) bool {
		return hasType(p.To, kind) && (socket || !p.Socket)
	})
}

// Answers reports whether a decoded message may answer another one that the other side has sent before, by their types,
// their conversation, and the members that such messages have in common. Where several could be meant, the oldest is.
func (s *Set) Answers(kind string, message any, to string, asked any) bool {
	if s == nil {
		return false
	}
	if a, b := s.Lane(message), s.Lane(asked); a != "" && b != "" && a != b {
		return false
	}
	return slices.ContainsFunc(s.pairs, func(p pair) bool {
		return hasType(p.Types, kind) && hasType(p.To, to) && p.isSame(message, asked)
	})
}

// isSame reports whether the answer repeats the members of the other message, as far as that has them.
func (p pair) isSame(message, asked any) bool {
	for answer, request := range p.Same {
		want, has := memberAt(asked, request)
		if got, _ := memberAt(message, answer); has && got != want {
			return false
		}
	}
	return true
}

func memberAt(message any, pointer string) (string, bool) {
	o, _ := message.(map[string]any)
	return lookUpText(o, strings.Split(strings.TrimPrefix(pointer, "/"), "/"))
}

// hasType reports whether a list of types names one.
func hasType(list []string, kind string) bool {
	first, _, _ := strings.Cut(kind, " ")
	return kind != "" && (slices.Contains(list, kind) || slices.Contains(list, first+" *"))
}
