package cli

import (
	"strings"

	"parley/simulator/console"
)

// repeatClause returns the command that judges a clause again as in a session: the clause's scenarios against the
// target of a test or a replay; a play like this one.
func repeatClause(s console.Session, strict bool, clause string) string {
	if s.Kind != "play" {
		target := s.Target
		if s.Kind == "replay" {
			target = s.URL
		}
		o := connectOptions{protocol: s.Protocol, role: s.Role, driver: s.Driver, strict: strict}
		return o.repeatCommand(target, s.Protocol) + " " + clause
	}
	words := []string{program, "simulate", "--protocol", spelled(s.Protocol), "--as", s.As}
	for _, f := range []struct{ flag, value string }{{"--mutant", s.Mutant}, {"--script", s.Script}} {
		if f.value != "" {
			words = append(words, f.flag, shellWord(f.value))
		}
	}
	if s.Connects {
		words = append(words, "--connect", shellWord(s.URL))
	}
	return strings.Join(words, " ")
}
