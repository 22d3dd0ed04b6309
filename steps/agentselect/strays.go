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

// findStrays looks for events that answer a message of another scenario, told by its nonce (AS-095). A target that is declared not to
// tell connections apart may take a late message for that of the client that is connected by then.
func (s *suite) findStrays() {
	re := nonces(s.Nonce)
	if re == nil || s.Env.Profile.AgentSelect.Correlation.Single {
		return
	}
	for _, r := range s.T.All() {
		if r.Dir != transcript.Received || r.Kind != transcript.Stream {
			continue
		}
		if other := string(re.Find(r.Bytes)); other != "" && other != s.Nonce {
			s.World.Strayed("AS-095", other, steps.Seen(r))
		}
	}
}
