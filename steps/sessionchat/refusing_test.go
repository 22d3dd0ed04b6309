package sessionchat

import (
	"testing"

	"parley/features/verdict"
)

// TestFenceUnanswered: a chat that shows whether a connection still works, and is not answered, is a missing answer. An
// overloaded target is therefore judged again alone.
func TestFenceUnanswered(t *testing.T) {
	end := result(nil)
	end.unless = "fence"
	res := perform(t, "@SC-030 @SC-031", `Given client A has chatted with "red"
		When client A sends "red" a chat without its content
		Then that message starts no session`, []saying{end})
	if res.Outcome != verdict.Failed || !res.Lacks() || res.Late == 0 {
		t.Errorf("%s, lacks an answer: %v, waits that reached their limit: %d, want failed, true, some; %+v",
			res.Outcome, res.Lacks(), res.Late, res.Failures)
	}
}
