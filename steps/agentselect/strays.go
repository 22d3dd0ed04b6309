package agentselect

import (
	"regexp"
	"strings"

	"parley/steps"
	"parley/transcript"
)

// nonces matches the nonces of the scenarios of a run over one driver: all end like this one, and begin with a prefix and numbers.
func nonces(nonce string) *regexp.Regexp {
	parts := strings.Split(nonce, "-")
	if len(parts) < 3 {
		return nil
	}
	return regexp.MustCompile(`[a-z]{2}(?:-[0-9]+)+-` + regexp.QuoteMeta(strings.Join(parts[len(parts)-2:], "-")))
}

// findsStrays looks at each record that waits come by, and at the scenario's end at all others, for events that answer a message of
// another scenario, told by its nonce (AS-095). A target that is declared not to tell connections apart may take a late message for
// that of the client that is connected by then.
func (s *suite) findsStrays() {
	re := nonces(s.Nonce)
	if re == nil || s.Env.Profile.AgentSelect.Correlation.Single {
		return
	}
	told := map[int]bool{}
	look := func(r *transcript.Record) {
		if told[r.N] || r.Dir != transcript.Received || r.Kind != transcript.Stream {
			return
		}
		if other := string(re.Find(r.Bytes)); other != "" && other != s.Nonce {
			told[r.N] = true
			s.World.Strayed("AS-095", other, steps.Seen(*r))
		}
	}
	s.World.Watch = look
	s.AtEnd(func() {
		for _, r := range s.T.All() {
			look(&r)
		}
	})
}
