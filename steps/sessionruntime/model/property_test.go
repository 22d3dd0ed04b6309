package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// said draws a line with a message delivered to an orchestrator, sensible or not.
var said = rapid.Custom(func(t *rapid.T) string {
	agent := rapid.SampledFrom([]string{"a", "b", "c", "x"})
	turn := rapid.SampledFrom([]string{"t1", "t2", "t3", "t0", "-turn_id"})
	one := func(label string, from *rapid.Generator[string]) string { return from.Draw(t, label) }
	n := rapid.IntRange(1, 12).Draw(t, "mark")
	switch rapid.IntRange(0, 13).Draw(t, "what") {
	case 0:
		return fmt.Sprintf("> user USER_INPUT #%d", n)
	case 1:
		return fmt.Sprintf("> user USER_INPUT #%d mention=%s", n, one("agent", agent))
	case 2:
		return fmt.Sprintf("> %s %s %s", one("agent", agent),
			rapid.SampledFrom([]string{"INPUT_ACK", "CANCEL_ACK", "STREAM_STOPPED"}).Draw(t, "ack"), one("turn", turn))
	case 3:
		return fmt.Sprintf("> %s AGENT_OUTPUT %s #%d %s", one("agent", agent), one("turn", turn), n,
			rapid.SampledFrom([]string{"chunk", "final", "-final"}).Draw(t, "piece"))
	case 4:
		return "> user " + rapid.SampledFrom([]string{"CANCEL", "INTERRUPT", "SESSION_OPEN", "SESSION_CLOSE"}).Draw(t, "ask")
	case 5:
		return fmt.Sprintf("> user %s agent=%s", rapid.SampledFrom([]string{"REMOVE_AGENT", "INVITE_AGENT"}).Draw(t, "move"),
			one("agent", agent))
	case 6:
		return fmt.Sprintf("> manager %s agent=%s",
			rapid.SampledFrom([]string{"REMOVE_AGENT_DONE", "REMOVE_AGENT_FAILED", "ADD_AGENT_DONE", "ADD_AGENT_FAILED"}).Draw(t,
				"receipt"), one("agent", agent))
	case 7:
		return fmt.Sprintf("> user SWITCH_AGENT %s>%s", one("from", agent), one("to", agent))
	case 8:
		return fmt.Sprintf("> %s HANDOVER_REQUEST %s of=%s #%d", one("agent", agent), one("turn", turn), one("to", agent), n)
	case 9:
		return fmt.Sprintf("> user %s x%d",
			rapid.SampledFrom([]string{"HANDOVER_CONFIRM", "HANDOVER_REJECT", "HANDOVER_CONFIRM -tx_id",
				"HANDOVER_CONFIRM t1"}).Draw(t, "answer"), n)
	case 10:
		return "> manager " +
			rapid.SampledFrom([]string{"SESSION_OPENED", "SESSION_CLOSED", "SESSION_FAILED", "ERROR #7"}).Draw(t, "receipt")
	case 11:
		return fmt.Sprintf("> user USER_INPUT #%d id=twice on=%s", n,
			rapid.SampledFrom([]string{"SYSTEM", "BROADCAST"}).Draw(t, "target"))
	case 12:
		return fmt.Sprintf("> %s ERROR %s #%d", one("agent", agent), one("turn", turn), n)
	}
	return rapid.SampledFrom([]string{"fence", "+ 70ms", "ask f", "fenced f", "set main a,b a 60ms", "set other b,c b",
		"quiet 5"}).Draw(t, "other")
})

// published draws a line with a message that an orchestrator publishes, called for or not.
var published = rapid.Custom(func(t *rapid.T) string {
	agent := rapid.SampledFrom([]string{"a", "b", "c", "x"}).Draw(t, "agent")
	turn := rapid.SampledFrom([]string{"t1", "t2", "t3", "-turn_id"}).Draw(t, "turn")
	n := rapid.IntRange(1, 12).Draw(t, "mark")
	return rapid.SampledFrom([]string{
		fmt.Sprintf("< USER_INPUT @%s %s #%d", agent, turn, n), fmt.Sprintf("< TURN_ACCEPTED %s of=%s", turn, agent),
		"< ROUTE_TIMEOUT " + turn, fmt.Sprintf("< AGENT_OUTPUT %s #%d", turn, n), fmt.Sprintf("< CANCEL @%s %s", agent, turn),
		"< CANCELED " + turn,
		"< SWITCH_AGENT a>" + agent, "< SWITCH_AGENT >" + agent + " on=BROADCAST", "< REQUEST_ADD_AGENT agent=" + agent,
		"< REQUEST_REMOVE_AGENT agent=" + agent,
		"< REQUEST_SESSION_OPEN", "< REQUEST_SESSION_CLOSE", "< AGENT_ADDED agent=" + agent, "< AGENT_REMOVED agent=" + agent,
		"< REMOVE_AGENT_FAILED agent=" + agent,
		fmt.Sprintf("< HANDOVER_UI_PROMPT %s x%d of=%s #%d", turn, n, agent, n),
		fmt.Sprintf("< HANDOVER_CONTEXT @%s #%d", agent, n), "< SESSION_OPENED", "< SESSION_CLOSED", "< ERROR " + turn,
	}).Draw(t, "line")
})

// positive returns the clauses kept by something that was published.
func positive(t *testing.T, lines []string) []string {
	kept, _, _ := summed(Judge(script(t, strings.Join(lines, "\n"))))
	return sortedKeys(kept)
}

// TestAnything checks that the model judges any sequence without panicking, and that every finding says what it is
// about.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := append([]string{"set main a,b,c a 60ms"},
			rapid.SliceOfN(rapid.OneOf(said, published), 0, 40).Draw(r, "lines")...)
		records := script(t, strings.Join(lines, "\n"))
		for _, f := range Judge(records) {
			if len(f.Clauses) == 0 || f.At < 1 || f.At > len(records) || !f.OK && (f.Expected == "" || f.Observed == "") {
				r.Fatalf("%+v", f)
			}
		}
	})
}

// TestSilence checks that an orchestrator that publishes nothing keeps only absences, and breaks nothing before a
// fence.
func TestSilence(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := append([]string{"set main a,b,c a 60ms"}, rapid.SliceOfN(said, 0, 40).Draw(r, "lines")...)
		if kept := positive(t, lines); len(kept) > 0 {
			r.Fatalf("kept: %v", kept)
		}
	})
}

// TestTheSameTwice checks that the findings depend only on the transcript.
func TestTheSameTwice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := append([]string{"set main a,b,c a 60ms"},
			rapid.SliceOfN(rapid.OneOf(said, published), 0, 40).Draw(r, "lines")...)
		records := script(t, strings.Join(lines, "\n"))
		one, other := strings.Split(told(Judge(records)), "\n"), strings.Split(told(Judge(records)), "\n")
		slices.Sort(one)
		slices.Sort(other)
		if !slices.Equal(one, other) {
			r.Fatalf("once:\n%v\nand then:\n%v", one, other)
		}
	})
}
