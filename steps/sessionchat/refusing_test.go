package sessionchat

import (
	"testing"

	"parley/features/verdict"
	"parley/transport/transcript"
)

func TestRefusal(t *testing.T) {
	closed := func(status int) transcript.Record {
		return transcript.Record{Dir: transcript.Received, Kind: transcript.Closed, Status: status}
	}
	sent := heard(`{"message_type":"error"}`)
	sent.Dir = transcript.Sent
	rows := []struct {
		reason string
		in     transcript.Record
		want   bool
	}{
		{"an error about the session", heard(`{"message_type":"error","agent_id":"red","message":{"code":"c"}}`), true},
		{"an error about no session", heard(`{"message_type":"error"}`), true},
		{"a close for unsupported data", closed(1003), true},
		{"a close for invalid text", closed(1007), true},
		{"a close for a policy violation", closed(1008), true},
		{"an ordinary close", closed(1000), false},
		{"a close because of the server", closed(1011), false},
		{"a broken connection", closed(0), false},
		{"a result", heard(`{"message_type":"result","agent_id":"red","message":{"subtype":"error"}}`), false},
		{"a pong", heard(`{"message_type":"pong"}`), false},
		{"what is no message", heard(`error`), false},
		{"what the harness sent", sent, false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			bound(t, "").decode(&r.in)
			if got := refusal(&r.in); got != r.want {
				t.Errorf("it is a refusal: %v", got)
			}
		})
	}
}

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
