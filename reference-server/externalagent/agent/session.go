package agent

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	proto "parley/protocol/externalagent"
)

// answers maps each reply type to the request that it answers.
var answers = map[string]string{
	proto.RelayJoined:    proto.RelayJoin,
	proto.SessionStarted: proto.SessionStart,
	proto.SnapshotState:  proto.SnapshotGet,
	proto.ToolResult:     proto.ToolCall,
	proto.SessionEnded:   proto.SessionEnd,
}

// received handles a JSON object.
func (m *Machine) received(msg Message) {
	for _, msg := range m.o.Inbound(m.view(), msg) {
		if m.done || !m.connection.open {
			return
		}
		m.take(msg)
	}
}

func (m *Machine) take(msg Message) {
	if why := m.o.Policy.Accept(m.view(), msg, problemOf(msg)); why != "" {
		m.strange(Oddity{Kind: NoEnvelope, Why: why, Message: msg})
		return
	}
	kind := msg.Type()
	switch kind {
	case proto.StateUpdated:
		m.updated(msg)
	case proto.UserMessage:
		m.told(msg)
	case proto.ErrorMessage:
		m.answer(msg, "")
	default:
		request, isAnswer := answers[kind]
		if !isAnswer {
			m.strange(Oddity{Kind: UnknownType, Why: kind, Message: msg})
			return
		}
		m.answer(msg, request)
	}
}

// answer handles a reply to a request of the given type; "" allows any type.
func (m *Machine) answer(msg Message, request string) {
	c := &m.connection
	id := msg.ReplyTo()
	fits := func(r Request) bool { return id != "" && id == r.ID && (request == "" || request == r.Type) }
	switch join := (Request{c.joinID, proto.RelayJoin}); {
	case !c.joined && fits(join):
		m.answerJoin(msg, join)
	case c.awaited != nil && fits(*c.awaited):
		m.answerAwaited(msg, *c.awaited)
	default:
		m.strange(Oddity{Kind: Unasked, Why: fmt.Sprintf("replyTo is %q", clip(msg.ReplyTo(), 80)), Message: msg})
	}
}

func (m *Machine) answerJoin(msg Message, join Request) {
	if msg.Type() == proto.ErrorMessage {
		m.refused(msg, join)
		return
	}
	m.joined()
}

func (m *Machine) answerAwaited(msg Message, r Request) {
	switch msg.Type() {
	case proto.ErrorMessage:
		m.answered()
		m.refused(msg, r)
	case proto.SessionStarted:
		m.answered()
		m.begun(msg)
	case proto.SnapshotState:
		m.snapshot(msg)
	case proto.ToolResult:
		m.toolResult(msg, r)
	case proto.SessionEnded:
		m.answered()
		m.ended(msg)
	}
}

// startSession requests a study session (EA-031).
func (m *Machine) startSession() {
	m.everBegan = true
	m.request(proto.SessionStart, object{"studyId": m.o.StudyID, "participantId": m.o.ParticipantID})
}

// begun begins a new study session and forgets what it learned in the previous one.
func (m *Machine) begun(msg Message) {
	m.needStart, m.active, m.begunHere, m.session = false, true, true, ""
	m.setSession(msg.Payload())
	m.calls, m.confirmed, m.call, m.planner = 0, false, nil, m.planner.renewed()
	clear(m.stages)
	m.note("session started", "id", m.session)
	m.resync(SessionBegins)
}

// setSession records the study session's id, which is never that of the relay session (EA-103).
func (m *Machine) setSession(payload object) {
	if id, isText := payload["sessionId"].(string); isText && id != "" {
		m.session, m.outcome.Session = id, id
	}
}

// snapshot handles the requested state. If it shows nothing and belongs to another session, no session is active.
func (m *Machine) snapshot(msg Message) {
	state, problem := readState(msg.Payload())
	if problem != "" { // a better reply may follow
		m.strange(Oddity{Kind: Useless, Why: problem, Message: msg})
		return
	}
	m.answered()
	m.needSync = false
	id, _ := msg.Payload()["sessionId"].(string)
	if state.UISpec == nil && !m.ours(id) {
		m.note("no session is active")
		m.active, m.needStart = false, true
		return
	}
	m.pause = m.o.Backoff.First
	m.active, m.needStart = true, false
	m.setSession(msg.Payload())
	m.setState(state, "snapshot.state")
	m.conclude()
}

// ours reports whether a snapshot that shows nothing belongs to the current study session. On the connection that
// received session.started it always does; on later connections the ids decide, if the host gives any.
func (m *Machine) ours(id string) bool {
	return m.active && (m.begunHere || m.session == "" || id == m.session)
}

// updated handles a pushed state (EA-055).
func (m *Machine) updated(msg Message) {
	state, problem := readState(msg.Payload())
	if problem != "" {
		m.strange(Oddity{Kind: Useless, Why: problem, Message: msg})
		return
	}
	m.setState(state, "state.updated")
}

func (m *Machine) setState(s State, from string) {
	s.Serial, s.key = m.last.Serial+1, keyOf(s)
	m.last = s
	m.polling = false
	m.do(Disarm{PollTimer})
	m.note("state", "from", from, "stage", stageOf(s), "tools", toolNames(s))
}

// ended handles the end of the study session (EA-063).
func (m *Machine) ended(msg Message) {
	m.outcome.LogFile, _ = msg.Payload()["logFile"].(string)
	m.outcome.Ended = true
	m.note("session ended", "logFile", clip(m.outcome.LogFile, 200))
	m.finish(nil)
}

// endSession requests the end of the study session, up to three times.
func (m *Machine) endSession() {
	const most = 3
	if m.endings == most {
		m.finish(nil)
		return
	}
	m.endings++
	m.request(proto.SessionEnd, object{"reason": m.outcome.Reason})
}

// refused handles an error that answers a request.
func (m *Machine) refused(msg Message, r Request) {
	code, _ := msg.Payload()["code"].(string)
	text, _ := msg.Payload()["message"].(string)
	m.note("refused", "type", r.Type, "id", r.ID, "code", clip(code, 80), "text", clip(text, 200))
	m.failed(Failure{Request: r, Code: code, Text: text})
}

// failed applies the remedy for a failed request.
func (m *Machine) failed(f Failure) {
	r := m.o.Policy.Failed(m.view(), f, remedy(f))
	if f.Request.Type == proto.ToolCall {
		m.callFailed(r, f.Code)
	} else if r != Reopen && r != TakeAsDone {
		m.rest()
	}
	switch r {
	case Restart:
		m.active, m.needStart, m.needSync = false, true, false
	case Synchronise:
		m.needStart, m.needSync = false, true
	case ShowNothing:
		m.needSync = false
		m.setState(State{}, "error")
		m.conclude()
	case Reopen:
		m.redial(f.Request.Type + " was refused")
	case Despair:
		m.finish(fmt.Errorf("%s was refused: %s", f.Request.Type, clip(f.Code, 80)))
	case TakeAsDone:
		m.takeAsDone(f.Request.Type)
	case TryAnother, TryAgain: // the pending steps stay pending
	}
}

func (m *Machine) takeAsDone(kind string) {
	switch kind {
	case proto.SessionEnd:
		m.outcome.Ended = true
		m.finish(nil)
	case proto.SessionStart:
		m.needStart, m.active = false, true
	case proto.SnapshotGet:
		m.needSync = false
	}
}

// overdue handles a missing reply: the agent asks for the state instead, and abandons a connection on which nothing
// is answered.
func (m *Machine) overdue() {
	const most = 3
	r := *m.connection.awaited
	m.note("no answer", "type", r.Type, "id", r.ID)
	m.connection.awaited = nil
	if m.unanswered++; m.unanswered == most {
		m.redial("nothing is answered")
		return
	}
	switch r.Type {
	case proto.SessionStart: // the host may have started the session anyway
		m.needStart, m.needSync = false, true
	case proto.SnapshotGet:
		if !m.active {
			m.needStart, m.needSync = true, false
		}
	case proto.ToolCall:
		m.call.Overdue = true
		m.resync(NoAnswer)
	}
}

// readState reads the state from a state.updated or a snapshot.state. A missing part is a problem: a state without
// uiSpec is not the same as one that shows nothing (EA-043 to EA-045, EA-057 to EA-059).
func readState(payload object) (s State, problem string) {
	spec, present := payload["uiSpec"]
	s.UISpec, _ = spec.(object)
	if !present || spec != nil && s.UISpec == nil {
		return State{}, "uiSpec is neither an object nor null"
	}
	tools, isArray := payload["toolSchema"].([]any)
	if !isArray {
		return State{}, "toolSchema is not an array"
	}
	s.History, _ = payload["messageHistory"].([]any) // optional: no decision depends on it
	s.Tools = readTools(tools)
	return s, ""
}

// readTools skips unnamed tools and repeated names.
func readTools(schema []any) []proto.Tool {
	tools := []proto.Tool{}
	for _, v := range schema {
		o, _ := v.(object)
		name, _ := o["name"].(string)
		if name == "" || slices.ContainsFunc(tools, func(t proto.Tool) bool { return t.Name == name }) {
			continue
		}
		description, _ := o["description"].(string)
		tools = append(tools, proto.Tool{Name: name, Description: description, Parameters: o["parameters"]})
	}
	return tools
}

// stageOf returns the stage of a state; "" if nothing is shown.
func stageOf(s State) string { return clip(readScreen(s.UISpec).stage, 80) }

// toolNames lists the tools of a state for the log.
func toolNames(s State) string {
	names := make([]string, 0, len(s.Tools))
	for _, t := range s.Tools {
		names = append(names, t.Name)
	}
	return clip(strings.Join(names, " "), 200)
}

// stateKey is equal for states that show and announce the same.
type stateKey [sha256.Size]byte

func keyOf(s State) stateKey {
	if s.key != (stateKey{}) {
		return s.key
	}
	return sha256.Sum256([]byte(canonical(s.UISpec) + canonical(s.Tools)))
}

// told records what the user says (EA-060 to EA-062). The reply waits until the agent knows the state.
func (m *Machine) told(msg Message) {
	const most = 64 // unanswered messages kept; a host that floods the agent gets no further replies
	payload := msg.Payload()
	text, isText := payload["text"].(string)
	if !isText {
		m.strange(Oddity{Kind: Useless, Why: "text is not a string", Message: msg})
		return
	}
	stage, _ := payload["stage"].(string)
	m.note("user", "text", clip(text, 200), "stage", clip(stage, 80))
	m.planner.wish(text)
	if len(m.unheard) < most {
		m.unheard = append(m.unheard, text)
	}
}

// reply answers the user's oldest message.
func (m *Machine) reply() {
	text := m.unheard[0]
	m.unheard = m.unheard[1:]
	m.say("Noted, I will prefer what fits: " + quote(text))
}

// comment announces once per stage what the agent does there (EA-008).
func (m *Machine) comment(s State) {
	screen := readScreen(s.UISpec)
	if !m.stages[screen.stage] {
		m.stages[screen.stage] = true
		m.say(stageComment(screen))
	}
}

// say sends an agent.message, which has no reply (EA-036).
func (m *Machine) say(text string) {
	m.send(proto.AgentMessage, object{"text": text})
	m.note("said", "text", clip(text, 200))
}

func stageComment(s screen) string {
	switch {
	case s.name == "":
		return "I will take the next step of the booking."
	case s.name == proto.ConfirmStage:
		return "Everything is chosen: I will confirm the booking."
	case len(s.items) > 0:
		return fmt.Sprintf("I will make the choice for %s next.", clip(s.name, 80))
	}
	return fmt.Sprintf("I will go on with %s next.", clip(s.name, 80))
}

// quote quotes another party's text for use in a sentence.
func quote(text string) string { return strconv.Quote(clip(text, 80)) }
