package model_test

import (
	"strings"
	"testing"
)

const (
	handsTo  = `> agent-a CONTROL/HANDOVER_REQUEST {"payload":{"target_agent":"agent-b","reason":"r"}}` + "\n"
	prompt   = `< CONTROL/HANDOVER_UI_PROMPT FRONTEND {"tx_id":"x","payload":{"who":"agent-a","to":"agent-b"}}` + "\n"
	confirms = `> frontend CONTROL/HANDOVER_CONFIRM {"tx_id":"x"}` + "\n"
	rejects  = `> frontend CONTROL/HANDOVER_REJECT {"tx_id":"x"}` + "\n"
	context  = `< CONTROL/HANDOVER_CONTEXT AGENT {"target_id":"agent-b","payload":{"said":"two"}}` + "\n"
	prompts  = over + handsTo + prompt
)

// hands returns a session in which an agent hands over with a payload, after a turn of its own, one of another agent,
// and one more of its own.
func hands(payload string) string {
	return abc + turnOf("t1", "agent-a", "agent-a", "Lisbon is cloudy") +
		turnOf("t2", "agent-a", "agent-c", "Madrid is sunny") +
		turnOf("t3", "agent-c", "agent-a", "Rome is rainy") + handsTo + prompt + confirms + toB + contextOf(payload)
}

// turnOf returns a turn of an agent that the user mentions while another one, or it, is active.
func turnOf(turn, before, agent, text string) string {
	in := `{"text":"What about ` + turn + `?","mentioned_agent_id":"` + agent + `"}`
	return `> frontend USER_INPUT {"payload":` + in + `}
< CONTROL/SWITCH_AGENT SYSTEM {"payload":{"from":"` + before + `","to":"` + agent + `","reason":"r","trigger":"t"}}
< USER_INPUT AGENT {"target_id":"` + agent + `","turn_id":"` + turn + `","payload":` + in + `}
< EVENT/TURN_ACCEPTED FRONTEND {"turn_id":"` + turn + `","payload":{"target_agent":"` + agent + `"}}
> ` + agent + ` CONTROL/INPUT_ACK {"turn_id":"` + turn + `"}
> ` + agent + ` AGENT_OUTPUT {"turn_id":"` + turn + `","payload":"` + text + `","final":true}
< AGENT_OUTPUT FRONTEND {"turn_id":"` + turn + `","payload":"` + text + `","final":true}
`
}

func contextOf(said string) string {
	return `< CONTROL/HANDOVER_CONTEXT AGENT {"target_id":"agent-b","payload":{"said":` + said + "}}\n"
}

var handoverRows = []row{
	{handovers, "confirmed", prompts + confirms + toB + context,
		"007 019 035 038 061 065 128 130 131 132 133 134 135 136 165 173", ""},
	{handovers, "by a USER_INPUT", prompts + confirms + toB +
		`< USER_INPUT AGENT {"target_id":"agent-b","turn_id":"t2","payload":"two"}` + "\n" + fence, "134", ""},
	{handovers, "no prompt", over + handsTo + fence, "", "007 019 038 130 131"},
	{handovers, "no prompt, with a reason", over + handsTo + "< ERROR/NO FRONTEND\n" + fence, "", ""},
	{handovers, "no prompt yet", over + handsTo, "", ""},
	{handovers, "a prompt without the agent that asks", over + handsTo +
		`< CONTROL/HANDOVER_UI_PROMPT FRONTEND {"payload":{"to":"agent-b"}}`, "", "132"},
	{handovers, "switched before it is confirmed", prompts + toB + confirms, "", "061 128 133"},
	{handovers, "switched as the agent has failed", prompts + "> agent-a ERROR/CRASH\n" + toB, "", ""},
	{handovers, "switched because the user asks", prompts + asksB + toB, "", ""},
	{handovers, "handed over before it is confirmed", prompts + context + confirms + toB, "", "061 133 135"},
	{handovers, "the context first", prompts + confirms + context + toB, "", "061 136"},
	{handovers, "the context, and no switch", prompts + confirms + context + fence, "", "006 061 063 065 134"},
	{handovers, "confirmed, and nothing comes of it", prompts + confirms + fence, "", "006 019 035 061 063 065 134 165"},
	{handovers, "the context under another name", prompts + confirms + toB +
		`< EVENT/TWO AGENT {"target_id":"agent-b","payload":{"said":"two"}}` + "\n" + fence, "", "135 173"},
	{handovers, "the switch, and no context", prompts + confirms + toB + fence, "", "061 135"},
	{handovers, "with the output of another agent", hands(`["Madrid is sunny"]`), "", "135"},
	{handovers, "with the output of another agent in a summary of the request", hands(`["Madrid is sunny","so far"]`), "",
		"135"},
	{handovers, "with the agent's own former output", hands(`"Lisbon is cloudy"`), "", "135"},
	{handovers, "with the output of several agents", hands(`["Lisbon is cloudy","Madrid is sunny","Rome is rainy"]`),
		"135", ""},
	{handovers, "with its output shortened", hands(`["Madrid is sunny","Rome is r…"]`), "135", ""},
	{handovers, "with its output in other words", hands(`["Madrid is sunny","rainy is Rome"]`), "135", ""},
	{handovers, "with a summary", hands(`"The weather in three towns"`), "135", ""},
	{handovers, "with what the user has said", hands(`"What about Rome?"`), "135", ""},
	{handovers, "with what another agent has said, as the request quotes it", strings.Replace(
		hands(`"Madrid is sunny"`), `"reason":"r"}}`+"\n"+prompt, `"reason":"Madrid is sunny"}}`+"\n"+prompt, 1), "135", ""},
	{handovers, "with the output of another agent, and its own is unknown", strings.Replace(hands(`"Madrid is sunny"`),
		`> agent-a AGENT_OUTPUT {"turn_id":"t3"`, `> worker AGENT_OUTPUT {"turn_id":"t3"`, 1), "135", ""},
	{handovers, "with the output of another agent, and a turn was not seen to begin", abc +
		`> agent-a AGENT_OUTPUT {"turn_id":"t0","payload":"Oslo is cold"}` + "\n" + strings.TrimPrefix(
		hands(`"Madrid is sunny"`), abc), "135", ""},
	{handovers, "not yet handed over", prompts + confirms, "", ""},
	{handovers, "rejected", prompts + rejects + fence, "137", ""},
	{handovers, "rejected, and switched", prompts + rejects + toB, "", "137"},
	{handovers, "rejected, and handed over", prompts + rejects + context, "", "137"},
	{handovers, "rejected, and the user asks", prompts + rejects + asksB + toB, "", ""},
	{handovers, "two at once", over + handsTo +
		`> agent-c CONTROL/HANDOVER_REQUEST {"payload":{"target_agent":"agent-b"}}` + "\n" + prompt + prompt + confirms +
		toB + context + toB, "-", ""},
	{handovers, "joined in the middle", confirms + toB + context, "-", ""},
}

// TestPatience: without fences, a message is missing only after two later messages were handled one after the other,
// and after some time.
func TestPatience(t *testing.T) {
	lost := runs + ack + chunk + chunkOut + asksB // no SWITCH_AGENT
	later := half + halfOut + final + finalOut
	for _, r := range []struct {
		reason, in string
		broken     bool
	}{
		{"nothing follows", lost + "+ 60s\n", false},
		{"two follow, soon", lost + later + "+ 29s\n" + next, false},
		{"one follows", lost + final + finalOut + "+ 60s\n" + nextToA, false},
		{"two follow, at once", lost + half + final + halfOut + finalOut + "+ 60s\n" + nextToA, false},
		{"two follow, and time", lost + later + "+ 31s\n" + nextToA, true},
		{"a fence follows", lost + fence, true},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if _, broken := found(t, r.in); broken["032"] != r.broken {
				t.Errorf("broken: %v; want RT-032: %v", broken, r.broken)
			}
		})
	}
}
