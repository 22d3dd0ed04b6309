package model

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
)

// Due is what a chat of our own clients obliges the server to.
type Due int

// What a chat obliges the server to.
const (
	Answer    Due = iota // its answer, under its agent_id
	End                  // the end of its turn
	Usable               // both, for a chat that shows whether its connection still works
	Stop                 // the end of its turn because of an interrupt
	Running              // that its turn runs until the model has said all
	Asking               // the same, for a turn for which the model was not asked
	Streaming            // a message of its turn before the end
	InOrder              // the pieces of its answer, all and in order
	Unchanged            // its answer as the model said it
)

// answered are the clauses that an answered chat satisfies.
var answered = strings.Fields(`
	SC-005 SC-013 SC-021 SC-024 SC-025 SC-026 SC-029 SC-032a SC-036 SC-037 SC-041 SC-052 SC-060`)

// unanswered are the clauses that a missing answer breaks, in scenarios about them: those above, and those that require
// something with or after an answer.
var unanswered = append(strings.Fields(`
	SC-002 SC-003 SC-004 SC-006 SC-008 SC-009 SC-012 SC-016 SC-017 SC-019 SC-020 SC-023 SC-027 SC-028 SC-030
	SC-031 SC-035 SC-042 SC-046 SC-047 SC-048 SC-049 SC-050 SC-053 SC-054 SC-055
	SC-057 SC-058 SC-059`), answered...)

// Settled returns the record that settles what a chat obliges the server to; 0 if it has not come.
func (c *Chat) Settled(what Due) int {
	switch what {
	case Answer:
		return c.answered.r.N
	case Stop:
		return c.ending().r.N
	case Streaming:
		if len(c.heard) > 0 {
			return c.heard[0].r.N
		}
		return 0
	}
	return c.result.r.N
}

// Doubtful returns the record of a result that may be that of an earlier turn, while there is no other; else 0. It
// counts once a wait for another one was in vain (InVain).
func (c *Chat) Doubtful() int {
	if c.result.r.N > 0 {
		return 0
	}
	return c.doubtful.r.N
}

// Hopeless says why a record leaves a chat without its answer; "" if it may still come.
func (c *Chat) Hopeless(record int) string {
	switch {
	case record == c.astray.r.N && c.astray.kind == vocab.AssistantMessage && c.astray.agent != "":
		return "the answer under another agent_id: " + c.astray.told()
	case !c.extra && record == c.result.r.N:
		return "the turn has ended: " + c.result.told()
	case !c.extra && record == c.doubtful.r.N:
		return "the turn has ended: " + c.doubtful.told()
	}
	return ""
}

// Found returns what is found about what a chat obliges the server to. What has not come is missing if it was waited
// for in vain (InVain).
func (c *Chat) Found(what Due) verdict.Finding {
	f := c.judged(what)
	f.Judge = verdict.ByModel
	return f
}

func (c *Chat) judged(what Due) verdict.Finding {
	switch what {
	case Answer:
		return c.found(c.answered, answered, c.unmet(), fmt.Sprintf("an answer to the chat, with agent_id %q", c.agent))
	case Usable:
		return c.found(c.result, nil, strings.Fields("SC-002 SC-006 SC-029 SC-030 SC-031 SC-055"),
			"a connection that is closed, or one on which chats are still answered")
	case Stop:
		return c.stops()
	case Running, Asking:
		return c.runs(what)
	case Streaming:
		return c.streams()
	case InOrder:
		return c.inOrder()
	case Unchanged:
		return c.unchanged()
	}
	return c.ends()
}

// found returns the finding on a message that is due.
func (c *Chat) found(came message, shown, broken []string, expected string) verdict.Finding {
	if came.r.N > 0 {
		return verdict.Finding{Clauses: shown, OK: true, At: came.r.N}
	}
	f := verdict.Finding{Clauses: broken, Expected: expected, Observed: c.vain}
	if c.astray.r.N > 0 {
		f.Observed = "the answer under another agent_id: " + c.astray.told()
	}
	return f
}

// unmet returns the clauses that a missing answer breaks. Those about the agent_id itself are not broken if an error
// has the right one, unless an earlier chat with it was answered.
func (c *Chat) unmet() []string {
	ended := func(was *Chat) bool { return was.result.r.N > 0 }
	isError := func(msg message) bool { return msg.kind == vocab.ErrorMessage }
	if slices.ContainsFunc(c.before, ended) || !slices.ContainsFunc(c.heard, isError) {
		return unanswered
	}
	return slices.DeleteFunc(slices.Clone(unanswered), func(id string) bool { return id == "SC-005" || id == "SC-041" })
}

// ends judges the end of a turn: a model that goes on because only another session was interrupted says all that it
// has to say.
func (c *Chat) ends() verdict.Finding {
	broken := c.unmet()
	switch {
	case c.Cut():
		broken = []string{"SC-035", "SC-036"}
	case c.crowded:
		broken = []string{"SC-021", "SC-041", "SC-057"}
	}
	f := c.found(c.result, nil, broken,
		fmt.Sprintf("the end of the turn (%s), with agent_id %q", vocab.ResultMessage, c.agent))
	if last := "released " + c.nonce; f.OK && c.spared && c.nonce != "" && !c.Cut() && !c.says(last) {
		return failed(c.result, "the turn of "+c.agent+" to end with what its model says at last: "+
			"only another session was interrupted", "SC-036")
	}
	return f
}

// says reports whether the answer has a text.
func (c *Chat) says(text string) bool {
	pieces := ""
	return slices.ContainsFunc(c.heard, func(msg message) bool {
		if msg.kind == vocab.StreamMessage {
			pieces += msg.text(vocab.Text)
		}
		return words[msg.kind] && strings.Contains(msg.text(vocab.Text), text)
	}) || strings.Contains(pieces, text)
}

// stops judges that an interrupt ends a turn whose model waits, because nothing else can end it.
func (c *Chat) stops() verdict.Finding {
	came, clauses := c.ending(), []string{"SC-035", "SC-036", "SC-055"}
	expected := fmt.Sprintf("the end of the interrupted turn (%s) of %s", vocab.ResultMessage, c.agent)
	if came.r.N > 0 && came.r.N < c.stop.r.N {
		return failed(came, expected+", and none before", clauses...)
	}
	return c.found(came, clauses, clauses, expected)
}

// runs judges that nothing ends a turn whose model waits.
func (c *Chat) runs(what Due) verdict.Finding {
	clauses, expected := []string{"SC-004", "SC-036", "SC-037", "SC-054"}, "the turn of "+c.agent+" still running"
	if what == Asking {
		if clauses, expected = []string{"SC-036"}, "a model request for the chat"; c.beside {
			clauses = []string{"SC-004", "SC-024", "SC-027", "SC-036"}
		}
	}
	if c.result.r.N == 0 {
		return kept(clauses...)
	}
	return failed(c.result, expected, clauses...)
}

// streams judges that the first message of a turn does not end it.
func (c *Chat) streams() verdict.Finding {
	var first message
	if len(c.heard) > 0 {
		first = c.heard[0]
	}
	if first.kind == vocab.ResultMessage {
		return failed(first, "a message of the turn before its end", "SC-012")
	}
	return c.found(first, []string{"SC-012"}, []string{"SC-012"},
		"a message of the turn while the model is still speaking")
}

// Known returns the latest session_id of an agent_id of our own clients; "" if it is not known.
func (m *Model) Known(agent string) string { return m.ids.last[agent].id }

// wait takes the remark that what is due because of a chat was waited for in vain.
func (c *Chat) wait(why string) {
	if c.vain = why; c.result.r.N == 0 && c.doubtful.r.N > 0 {
		c.result = c.doubtful
	}
}
