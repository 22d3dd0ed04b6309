package agent

import (
	"strings"

	proto "parley/protocol/externalagent"
)

// act makes the next call, or finds that there is none to make.
func (m *Machine) act() (more bool) {
	p, v := m.o.Policy, m.view()
	s := p.State(v)
	if reason, finished := p.Finished(v, s); finished {
		m.outcome.Booked = m.confirmed
		m.end(reason)
		return true
	}
	if s.UISpec == nil || len(s.Tools) == 0 {
		m.awaitForm()
		return false
	}
	m.poll = m.o.Patience
	m.comment(s)
	switch {
	case m.outcome.Calls >= m.o.MaxCalls:
		m.end("call-limit")
		return true
	case m.retry != nil:
		m.makeCall(*m.retry)
		return true
	}
	c, ok := p.Choose(v, s, m.planner.candidates(s))
	switch {
	case ok:
		m.makeCall(c)
	case !m.lookedOn: // the state may be stale
		m.lookedOn = true
		m.resync(NothingLeft)
	default:
		m.end("no-way-forward")
	}
	return true
}

// end lets the session end.
func (m *Machine) end(reason string) {
	m.note("nothing is left to do", "reason", reason)
	m.ending, m.outcome.Reason = true, reason
}

// awaitForm waits for the host to show something, and looks from time to time.
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
	m.retry, m.lookedOn, m.result = nil, false, nil
	m.call = &Called{Call: c, Before: m.last}
	m.note("call", "tool", c.Tool, "params", brief(c.Params), "reason", clip(c.Reason, 200))
	m.call.ID = m.request(proto.ToolCall, object{"toolName": c.Tool, "params": c.Params, "reason": c.Reason})
}

// toolResult confirms a call, or tells that it failed. What it shows is not acted on (EA-051, EA-074).
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

// confirm waits for the state that follows (EA-051, EA-054).
func (m *Machine) confirm() {
	m.call.Answered, m.confirmed = true, true
	m.do(Arm{PatienceTimer, m.o.Patience})
	m.resync(CallConfirmed)
}

// settle tells whether the state that the call led to is known, and goes on if so.
func (m *Machine) settle() (more bool) {
	switch {
	case m.call.Overdue: // no snapshot is wanted by a policy that lets it be
		m.conclude()
		return true
	case m.call.Answered && m.o.Policy.Settled(m.view()):
		m.conclude()
		return true
	}
	return false
}

// conclude ends a call: whatever the last state shows is what it has led to.
func (m *Machine) conclude() {
	if m.call == nil {
		return
	}
	m.planner.called(*m.call, m.last)
	m.call = nil
	m.do(Disarm{PatienceTimer})
}

// callFailed ends a call that failed; it is not made in the same state again, unless the remedy is just that.
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

// codeOf finds the code in a tool.result with ok:false. The source gives it no place.
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
