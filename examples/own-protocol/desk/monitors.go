package desk

import (
	"fmt"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// monitors returns those that hold in every transcript, whatever its scenario is about. Each is a pure function of
// the records.
func monitors() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "numbers", Clauses: []string{"TD-004"}, Check: numbers,
			Text: "seq is 1 for the first event of a connection and grows by one"},
		{Name: "whole-text", Clauses: []string{"TD-019"}, Check: wholeText,
			Text: "the text of agent.done is the texts of its pieces"},
		{Name: "nothing-behind-closed", Clauses: []string{"TD-017"}, Check: nothingBehind,
			Text: "behind ticket.closed there are only refusals"},
	}
}

// numbers checks the count of each connection. After a connection's first deviation its count is unknown; Model
// expresses that.
func numbers(records []transcript.Record) (out []verdict.Finding) {
	last := map[string]int{}
	for _, r := range records {
		if r.Dir == transcript.Sent && r.Kind == transcript.Open {
			last[r.Conn] = 0
		}
		if r.Event == nil || r.Dir != transcript.Received {
			continue
		}
		last[r.Conn]++
		data, _ := r.Event.Data.(map[string]any)
		want := fmt.Sprint(last[r.Conn])
		out = append(out, verdict.Finding{Clauses: []string{"TD-004"}, OK: fmt.Sprint(data["seq"]) == want,
			Expected: "seq " + want, Observed: monitor.Describe(r), At: r.N, Model: "seq of " + r.Conn})
	}
	return out
}

// wholeText compares the end of each answer with its pieces.
func wholeText(records []transcript.Record) (out []verdict.Finding) {
	said := map[string]string{} // by connection and ticket
	for _, r := range records {
		at := r.Conn + " " + of(r, "ticket")
		switch {
		case is(&r, started):
			said[at] = ""
		case is(&r, piece):
			said[at] += of(r, "text")
		case is(&r, done):
			out = append(out, verdict.Finding{Clauses: []string{"TD-019"}, OK: of(r, "text") == said[at],
				Expected: fmt.Sprintf("the text %q", said[at]), Observed: monitor.Describe(r), At: r.N})
		}
	}
	return out
}

// nothingBehind checks that nothing follows about a closed ticket.
func nothingBehind(records []transcript.Record) (out []verdict.Finding) {
	ended := map[string]bool{} // by connection and ticket: events of two connections have no order
	for _, r := range records {
		ticket := of(r, "ticket")
		at := r.Conn + " " + ticket
		switch {
		case is(&r, closed) && !ended[at]:
			ended[at] = true
			out = append(out, verdict.Finding{Clauses: []string{"TD-017"}, OK: true, At: r.N})
		case r.Event != nil && r.Dir == transcript.Received && ended[at] && !is(&r, refused):
			out = append(out, verdict.Finding{Clauses: []string{"TD-017"}, At: r.N, Observed: monitor.Describe(r),
				Expected: "nothing but refusals of ticket " + ticket + ", which is closed"})
		}
	}
	return out
}
