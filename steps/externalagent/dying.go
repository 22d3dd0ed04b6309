package externalagent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	judge "parley/steps/externalagent/invariants"
	"parley/transport/transcript"
)

// promptly is how soon after a message a process must end to have ended because of it. Later it may have waited in
// vain for something.
const promptly = time.Second

// judgeDeath judges that the agent's process has not died of a message that the source allows: that breaks the clause
// of the message, whatever the agent would have done next. It returns an error if so. A process that succeeds has
// chosen to end.
func (s *suite) judgeDeath() error {
	if end := s.gone(); end == "" || strings.HasSuffix(end, endedWell) {
		return nil
	}
	rec, clauses, after := fatal(s.T.After(s.agent.started))
	i := slices.IndexFunc(clauses, s.Judges)
	if i < 0 {
		return nil
	}
	return s.Need(verdict.Finding{Clauses: clauses[i : i+1], At: rec.N,
		Expected: "an agent that keeps running after a message that the source allows",
		Observed: fmt.Sprintf("%s, %d ms after %s%s", s.gone(), after.Milliseconds(), steps.Seen(rec), s.lastWords())})
}

// fatal returns the message of which the agent's process died, its clauses, the most telling first, and how long after
// it. There are no clauses if the process may have ended for another reason: it had sent something since, its
// connection was lost before, or there is something among its last messages that no clause names.
func fatal(records []transcript.Record) (of transcript.Record, clauses []string, after time.Duration) {
	end := slices.IndexFunc(records, func(r transcript.Record) bool {
		return r.Kind == transcript.Remark && strings.HasPrefix(r.Label, exited)
	})
	if end < 0 {
		return of, nil, 0
	}
	for _, r := range slices.Backward(records[:end]) {
		switch {
		case !strings.HasPrefix(r.Conn, judge.AgentParty):
			continue
		case r.Dir == transcript.Sent && r.Kind != transcript.Frame: // the harness has ended the connection
			return of, nil, 0
		case r.Dir == transcript.Received && r.Kind == transcript.Frame, records[end].At-r.At > promptly:
			return of, clauses, after
		case r.Dir == transcript.Received:
			continue
		}
		named := clausesOfMessage(&r)
		if named == nil {
			return of, nil, 0
		}
		if clauses == nil || unusual(&r) {
			of, clauses, after = r, named, records[end].At-r.At
		}
	}
	return of, clauses, after
}

// clausesOfMessage returns the clauses about a message to an agent; nil if the source does not allow it.
func clausesOfMessage(r *transcript.Record) []string {
	switch body := payload(r); kindOf(r) {
	case vocab.RelayJoined:
		return []string{"EA-026"}
	case vocab.ErrorMessage:
		if code, _ := body["code"].(string); slices.Contains(vocab.Codes(), code) && field(r, "replyTo") != "" {
			return []string{"EA-074"}
		}
	case vocab.ToolResult:
		return []string{"EA-074", "EA-051", "EA-072"}
	case vocab.StateUpdated, vocab.SnapshotState:
		return []string{"EA-072", "EA-077", "EA-051"}
	case vocab.UserMessage:
		return []string{"EA-060"}
	}
	return nil
}

// unusual reports whether a message is not of the kind that a booking consists of.
func unusual(r *transcript.Record) bool {
	body := payload(r)
	switch kindOf(r) {
	case vocab.ErrorMessage, vocab.UserMessage:
		return true
	case vocab.ToolResult:
		return body["ok"] == false
	}
	return tells(r) && body["uiSpec"] == nil
}
