package externalagent

import (
	"slices"
	"strings"
	"testing"

	"parley/steps"
	"parley/transport/transcript"
)

// TestTellAnswers checks that a refusal is told of a request that was refused only: how a host answers a snapshot.get
// without a session is not in the source.
func TestTellAnswers(t *testing.T) {
	const refusal, snapshot = `agent A is refused with "SESSION_NOT_ACTIVE"`, "agent A gets a snapshot"
	for _, c := range []struct{ reason, answer, want string }{
		{"refused", `{"type":"error","replyTo":"q","payload":{"code":"SESSION_NOT_ACTIVE"}}`, refusal},
		{"answered", `{"type":"snapshot.state","replyTo":"q","payload":{"uiSpec":null}}`, snapshot},
		{"refused otherwise", `{"type":"error","replyTo":"q","payload":{"code":"INVALID_MESSAGE"}}`, ""},
		{"not answered", "", ""},
		{"another request refused", `{"type":"error","replyTo":"x","payload":{"code":"SESSION_NOT_ACTIVE"}}`, ""},
	} {
		tell := Protocol{}.ConvertRecording(steps.ConvertedRecording{Role: "host"})
		var lines []string
		for _, text := range []string{"sent open", "received open",
			`sent {"v":"mvp-0.2","id":"j","type":"relay.join","payload":{"role":"agent","sessionId":"s"}}`,
			`received {"type":"relay.joined","replyTo":"j","payload":{}}`,
			`sent {"v":"mvp-0.2","id":"q","type":"snapshot.get","payload":{}}`, "received " + c.answer} {
			dir, body, _ := strings.Cut(text, " ")
			r := transcript.Record{Conn: "A", Dir: transcript.Dir(dir), Kind: transcript.Frame, Bytes: []byte(body)}
			if body == "open" {
				r.Kind, r.Bytes = transcript.Open, nil
			}
			more, _ := tell(r)
			lines = append(lines, more...)
		}
		if !slices.Contains(lines, "agent A asks for a snapshot") {
			t.Fatalf("%s: %q", c.reason, lines)
		}
		for _, line := range []string{refusal, snapshot} {
			if slices.Contains(lines, line) != (line == c.want) {
				t.Errorf("%s: %q", c.reason, lines)
			}
		}
	}
}
