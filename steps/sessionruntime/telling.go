package sessionruntime

import (
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
	wjson "parley/transport/wire/json"
)

// fromFrontend returns the steps of the user.
func (t *tale) fromFrontend(ss *toldSession, m judge.Message, where string) ([]string, bool) {
	if m.Event == vocab.UserInput {
		return t.says(ss, m, where)
	}
	open := ss.open()
	certain := where == "" && !ss.loose
	agent := t.letter(m.AgentID)
	switch m.Subtype {
	case vocab.Cancel, vocab.Interrupt:
		does := map[string]string{vocab.Cancel: "the user cancels", vocab.Interrupt: "the user interrupts"}[m.Subtype] + where
		if certain && len(open) == 1 && open[0].turn != "" && open[0].asking && !open[0].cancelled {
			open[0].cancelled = true
			return []string{does, fmt.Sprintf("agent %q is asked to stop %q", open[0].agent, open[0].name)}, true
		}
		for _, in := range open {
			in.cancelled = in.cancelled || where == ""
		}
		return []string{does, handled}, true
	case vocab.SwitchAgent:
		to := t.letter(text(m.Data[judge.SwitchTo]))
		if to == "" {
			to = agent
		}
		return t.switches(ss, to, where, certain && len(open) == 0), to != ""
	case vocab.InviteAgent:
		return t.invites(ss, m, where, certain)
	case vocab.RemoveAgent:
		if agent == "" {
			return nil, false
		}
		does, old := fmt.Sprintf("the user removes agent %q%s", agent, where), ss.moved[agent]
		ss.moved[agent] = true
		if certain && !old && len(open) == 0 && slices.Contains(ss.agents, agent) {
			return []string{does, fmt.Sprintf("SessionManager is asked to remove agent %q", agent)}, true
		}
		return []string{does, handled}, true
	case vocab.SessionOpen, vocab.SessionClose:
		what := map[bool]string{true: "open", false: "close"}[m.Subtype == vocab.SessionOpen]
		does := fmt.Sprintf("the user %ss the session%s", what, where)
		if certain && len(open) == 0 && !ss.closed {
			ss.closed = true
			return []string{does, fmt.Sprintf("SessionManager is asked to %s the session", what)}, true
		}
		return []string{does, handled}, true
	case vocab.HandoverConfirm, vocab.HandoverReject:
		return t.decides(ss, m, where, certain && len(open) == 0)
	}
	return nil, false
}

// says returns the steps of an input.
func (t *tale) says(ss *toldSession, m judge.Message, where string) ([]string, bool) {
	t.turns++
	in := &toldInput{name: fmt.Sprintf("t%d", t.turns), payload: wjson.Compact(m.Payload), over: where != ""}
	certain := where == "" && !ss.loose && len(ss.open()) == 0
	ss.inputs = append(ss.inputs, in)
	ss.sent[m.ID] = fmt.Sprintf("%q is delivered by a second subscription", in.name)
	does, to := fmt.Sprintf("the user says %q%s", in.name, where), ss.active
	payload, object := m.Payload.(map[string]any)
	mention := text(m.Data["mention"])
	switch {
	case m.Subtype == vocab.Mention && object && payload["type"] == "agent_selection":
		does, to = t.mentioned(in, text(payload["mentioned_agent_id"]), "a choice in the interface")
	case m.Subtype == vocab.Mention:
		does, to = t.mentioned(in, mention, "its subtype")
	case object && payload["mentioned_agent_id"] != nil:
		does, to = t.mentioned(in, text(payload["mentioned_agent_id"]), "its payload")
	case object && payload["type"] == "selection":
		does = fmt.Sprintf("the user picks %q in the interface", in.name)
	case object && where == "":
		does += " with a structured payload"
	case m.Turn != "" && where == "":
		does += " with a turn_id of its own"
	case m.Trace != "" && where == "":
		does += " with a trace_id of its own"
	}
	if does == "" {
		return nil, false
	}
	if to != ss.active {
		certain = certain && slices.Contains(ss.agents, to) && !ss.moved[to]
		ss.active = to
	}
	if certain && to != "" {
		return []string{does, fmt.Sprintf("%q reaches agent %q", in.name, to)}, true
	}
	ss.loose = ss.loose || where == ""
	return []string{does, handled}, true
}

func (t *tale) mentioned(in *toldInput, id, how string) (does, to string) {
	if to = t.letter(id); to == "" {
		return "", ""
	}
	return fmt.Sprintf("the user mentions agent %q in %q by %s", to, in.name, how), to
}

// switches returns the steps of a switch by the user.
func (t *tale) switches(ss *toldSession, to, where string, certain bool) []string {
	does := fmt.Sprintf("the user switches to agent %q%s", to, where)
	known := slices.Contains(ss.agents, to) && !ss.moved[to] && ss.active != "" && ss.active != to
	if where != "" {
		return []string{does, handled}
	}
	was := ss.active
	ss.active = to
	if certain && known {
		return []string{does, fmt.Sprintf("a switch from agent %q to agent %q is announced", was, to)}
	}
	ss.loose = true
	return []string{does, handled}
}

func (t *tale) invites(ss *toldSession, m judge.Message, where string, certain bool) ([]string, bool) {
	payload, _ := m.Payload.(map[string]any)
	spec, _ := payload["agent_spec"].(map[string]any)
	agent := t.letter(text(spec["agent_id"]))
	if agent == "" {
		return nil, false
	}
	does, old := fmt.Sprintf("the user invites agent %q%s", agent, where), ss.moved[agent]
	ss.moved[agent] = ss.moved[agent] || where == ""
	if certain && !old && !slices.Contains(ss.agents, agent) {
		return []string{does, fmt.Sprintf("SessionManager is asked to add agent %q", agent)}, true
	}
	return []string{does, handled}, true
}

// decides returns the steps of the user's decision about a handover.
func (t *tale) decides(ss *toldSession, m judge.Message, where string, certain bool) ([]string, bool) {
	for _, in := range ss.inputs {
		if in.asked == "" || m.Turn != in.turn && len(asking(ss)) > 1 {
			continue
		}
		what := map[bool]string{true: "confirms", false: "rejects"}[m.Subtype == vocab.HandoverConfirm]
		does, to, was := fmt.Sprintf("the user %s the handover of %q%s", what, in.name, where), in.asked, ss.active
		if where != "" || what == "rejects" {
			if where == "" {
				in.asked = ""
			}
			return []string{does, handled}, true
		}
		in.asked = ""
		certain = certain && slices.Contains(ss.agents, to) && was != "" && was != to && !ss.moved[to]
		ss.active, ss.loose = to, true // the new agent may have its own turn
		if certain {
			return []string{does, fmt.Sprintf("a switch from agent %q to agent %q is announced", was, to)}, true
		}
		return []string{does, handled}, true
	}
	if to := t.letter(m.TargetAgent); to != "" && m.Subtype == vocab.HandoverConfirm && where == "" {
		does := fmt.Sprintf("the user confirms a handover to agent %q that no agent has requested", to)
		return []string{does, handled}, true
	}
	return nil, false
}

func asking(ss *toldSession) (out []*toldInput) {
	for _, in := range ss.inputs {
		if in.asked != "" {
			out = append(out, in)
		}
	}
	return out
}

// fromManager returns the steps of SessionManager's answers.
func (t *tale) fromManager(ss *toldSession, m judge.Message, where string) ([]string, bool) {
	agent := t.letter(m.AgentID)
	if m.Event == vocab.Error {
		return []string{"SessionManager reports an error", handled}, where == ""
	}
	said := ""
	for what, r := range results {
		if m.Subtype == r.subtype && what != "could not be closed" { // a SESSION_FAILED does not say what has failed
			said = what
		}
	}
	of := results[said].passed == judge.Notice // of a session
	switch {
	case said == "" || of && where != "" || !of && agent == "":
		return nil, false
	case of:
		ss.loose = true
		return []string{"SessionManager says that the session " + said, handled}, true
	case where == "":
		ss.agents = slices.DeleteFunc(ss.agents, func(l string) bool { return l == agent })
		if ss.active == agent || said != "is removed" {
			ss.loose = true
		}
	}
	return []string{fmt.Sprintf("SessionManager says that agent %q %s%s", agent, said, where), handled}, true
}

// fromAgent returns the steps of an agent.
func (t *tale) fromAgent(ss *toldSession, m judge.Message, where string) ([]string, bool) {
	agent := t.letter(m.From)
	i := slices.IndexFunc(ss.inputs, func(in *toldInput) bool { return in.turn != "" && in.turn == m.Turn })
	if agent == "" || i < 0 {
		return nil, false
	}
	in := ss.inputs[i]
	// With a short limit, a slow machine may miss it: then the model, which knows the times, judges what is published.
	own := in.agent == agent && !ss.loose && !in.over && t.limits[inputAck] == 0
	switch {
	case m.Subtype == vocab.InputAck:
		ss.sent[m.ID] = fmt.Sprintf("the acknowledgement of %q is delivered by a second subscription", in.name)
		return []string{fmt.Sprintf("agent %q acknowledges %q%s", agent, in.name, where)}, true
	case m.Event == vocab.AgentOutput:
		return t.outputs(ss, in, m, agent, where, own && !in.cancelled), true
	case m.Subtype == vocab.CancelAck, m.Subtype == vocab.StreamStopped:
		ss.sent[m.ID] = fmt.Sprintf("the confirmation of %q is delivered by a second subscription", in.name)
		how := "confirms the cancel of"
		if m.Subtype == vocab.StreamStopped {
			how = "has stopped the stream of"
		}
		does := fmt.Sprintf("agent %q %s %q%s", agent, how, in.name, where)
		if own && in.cancelled && t.limits[cancelAck] == 0 {
			in.over = true
			return []string{does, fmt.Sprintf("the frontend is told that %q is cancelled", in.name)}, true
		}
		in.over = in.over || in.agent == agent && in.cancelled
		return []string{does, handled}, true
	case m.Subtype == vocab.HandoverRequest:
		to := t.letter(m.TargetAgent)
		if to == "" {
			return nil, false
		}
		in.asked = to
		does := fmt.Sprintf("agent %q asks to hand %q over to agent %q%s", agent, in.name, to, where)
		return []string{does, handled}, true
	case m.Event == vocab.Error:
		ss.loose = true
		return []string{fmt.Sprintf("agent %q reports an error in %q%s", agent, in.name, where), handled}, true
	}
	return nil, false
}

// outputs returns the steps of an agent's output.
func (t *tale) outputs(ss *toldSession, in *toldInput, m judge.Message, agent, where string, own bool) []string {
	ss.sent[m.ID] = fmt.Sprintf("the output of %q is delivered by a second subscription", in.name)
	what := "a chunk"
	switch payload, _ := m.Payload.(map[string]any); {
	case m.Final && m.Chunk && len(payload) > 1:
		what = "the final with odd values"
	case m.Final && m.Chunk:
		what = "the final"
	case m.Final:
		what = "a final without chunks"
	case len(payload) > 1:
		what = "a chunk with odd values"
	case strings.Count(wjson.Compact(m.Payload), "one line of many") > 0:
		what = "long text"
	}
	does := fmt.Sprintf("agent %q sends %s of %q%s", agent, what, in.name, where)
	if !own {
		ss.loose = ss.loose || m.Final
		return []string{does, handled}
	}
	in.asking, in.over = true, m.Final
	return []string{does, fmt.Sprintf("the frontend receives the output of %q", in.name)}
}
