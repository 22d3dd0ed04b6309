package agent

import (
	"strings"

	proto "parley/protocol/externalagent"
)

// act makes the next call, or ends the session if no call is left.
func (m *Machine) act() (more bool) {
	v := m.view()
	s := m.o.Policy.State(v, m.last)
	if m.finished(s) {
		m.outcome.Booked = m.confirmed
		m.end("study-complete")
		return true
	}
	if s.UISpec == nil || len(s.Tools) == 0 {
		m.awaitForm()
		return false
	}
	m.poll = m.o.Patience
	m.comment(s)
	candidates := m.planner.candidates(s)
	switch {
	case m.outcome.Calls >= m.o.MaxCalls:
		m.end("call-limit")
	case m.retry != nil:
		m.makeCall(*m.retry)
	case len(candidates) > 0:
		m.makeCall(m.o.Policy.Choose(v, s, candidates[0]))
	case !m.looked: // the state may be stale
		m.looked = true
		m.resync(NothingLeft)
	default:
		m.end("no-way-forward")
	}
	return true
}

// end requests the end of the session.
func (m *Machine) end(reason string) {
	m.note("nothing is left to do", "reason", reason)
	m.ending, m.outcome.Reason = true, reason
}

// awaitForm waits until the host shows something and polls it at growing intervals.
func (m *Machine) awaitForm() {
	const rarest = 16
	if m.polling {
		return
	}
	m.polling = true
	m.do(Arm{PollTimer, m.poll})
	m.poll = min(2*m.poll, rarest*m.o.Patience)
}

// makeCall sends a tool.call (EA-033 to EA-035).
func (m *Machine) makeCall(c Call) {
	m.outcome.Calls++
	m.calls++
	m.retry, m.looked, m.result = nil, false, nil
	m.call = &Called{Call: c, Before: m.last}
	m.note("call", "tool", c.Tool, "params", brief(c.Params), "reason", clip(c.Reason, 200))
	m.call.ID = m.request(proto.ToolCall, object{"toolName": c.Tool, "params": c.Params, "reason": c.Reason})
}

// toolResult confirms or fails a call. The agent does not act on its uiSpec (EA-051, EA-074).
func (m *Machine) toolResult(msg Message, r Request) {
	payload := msg.Payload()
	ok, isBool := payload["ok"].(bool)
	if !isBool {
		m.strange(Oddity{Kind: Useless, Why: "ok is neither true nor false", Message: msg})
		return
	}
	m.answered()
	m.result = payload
	if !ok {
		code, text := codeOf(payload)
		m.note("call failed", "id", r.ID, "code", clip(code, 80), "text", clip(text, 200))
		m.failed(Failure{Request: r, Code: code, Text: text})
		return
	}
	quick, _ := payload["uiSpec"].(object)
	m.note("call confirmed", "id", r.ID, "quickStage", clip(readScreen(quick).stage, 80))
	m.confirm()
}

// confirm waits for the state that follows the call (EA-051, EA-054).
func (m *Machine) confirm() {
	m.call.Answered, m.confirmed = true, true
	m.do(Arm{PatienceTimer, m.o.Patience})
	m.resync(CallConfirmed)
}

// settle reports whether the call has led to a known state and, if so, concludes it.
func (m *Machine) settle() (more bool) {
	switch {
	case m.call.Overdue: // and the policy wants no snapshot
		m.conclude()
		return true
	case m.call.Answered && m.o.Policy.Settled(m.view(), settled(*m.call, m.last)):
		m.conclude()
		return true
	}
	return false
}

// conclude ends a call: the last state is its result.
func (m *Machine) conclude() {
	if m.call == nil {
		return
	}
	m.planner.called(*m.call, m.last)
	m.call = nil
	m.do(Disarm{PatienceTimer})
}

// callFailed ends a failed call; only the remedy TryAgain repeats it in the same state.
func (m *Machine) callFailed(remedy Remedy, code string) {
	c := *m.call
	if remedy == TakeAsDone {
		m.confirm()
		return
	}
	m.outcome.Failed++
	m.call = nil
	if remedy == TryAgain {
		m.retry = &c.Call
		return
	}
	m.planner.failed(c, code)
}

// codeOf finds the error code in a tool.result with ok:false. The source does not say where it is.
func codeOf(payload object) (code, text string) {
	where := []object{payload}
	for _, name := range []string{"error", "failure"} {
		if inner, isObject := payload[name].(object); isObject {
			where = append(where, inner)
		}
	}
	for _, o := range where {
		if code == "" {
			code, _ = o["code"].(string)
		}
		if text == "" {
			text, _ = o["message"].(string)
		}
	}
	for _, c := range proto.Codes() {
		if said, _ := payload["error"].(string); code == "" && strings.Contains(said, c) {
			code = c
		}
	}
	return code, text
}
