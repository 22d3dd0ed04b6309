package externalagent

import (
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
)

// TestFailureThatNobodySays checks the default call for a tool failure, if the profile gives none: a host may accept
// that call, but a failure as expected passes.
func TestFailureThatNobodySays(t *testing.T) {
	const lines = session + "When agent A makes the calls that make a tool fail at run time\n" +
		"Then agent A is refused with \"TOOL_EXECUTION_FAILED\"\n"
	const why = "the profile gives no external-agent.provoke.tool-failure"
	for _, tt := range []struct {
		reason        string
		bad           bad
		want, becomes string
	}{
		{"next needs no choice", carriesOut, "EA-083=not-tested", why},
		{"next with nothing chosen breaks a rule of the tool",
			codes("TOOL_EXECUTION_FAILED", "INVALID_PARAMS"), "EA-083=not-tested", why},
		{"it fails", nil, "EA-083=passed", ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := &peer{bad: tt.bad}
			env := environment(t, vocab.Host, p)
			binding.Of(env.Profile).Provoke = binding.Default().Provoke
			expect(t, perform(t, env, p, "@EA-083", lines), tt.want, tt.becomes)
		})
	}
}
