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

// handleObject handles a JSON object.
func (m *Machine) handleObject(msg Message) {
	for _, msg := range m.o.Inbound(m.policyView(), msg) {
		if m.done || !m.connection.open {
			return
		}
		m.handleMessage(msg)
	}
}

func (m *Machine) handleMessage(msg Message) {
	if why := m.o.Policy.Accept(m.policyView(), msg, problemOf(msg)); why != "" {
		m.handleStrange(Oddity{Kind: NoEnvelope, Why: why, Message: msg})
		return
	}
	kind := msg.Type()
	switch kind {
	case proto.StateUpdated:
		m.handleUpdate(msg)
	case proto.UserMessage:
		m.recordUserMessage(msg)
	case proto.ErrorMessage:
		m.handleReply(msg, "")
	default:
		request, isAnswer := answers[kind]
		if !isAnswer {
			m.handleStrange(Oddity{Kind: UnknownType, Why: kind, Message: msg})
			return
		}
		m.handleReply(msg, request)
	}
}

// handleReply handles a reply to a request of the given type; "" allows any type.
func (m *Machine) handleReply(msg Message, request string) {
	c := &m.connection
	id := msg.ReplyTo()
	fits := func(r Request) bool { return id != "" && id == r.ID && (request == "" || request == r.Type) }
	switch join := (Request{c.joinID, proto.RelayJoin}); {
	case !c.joined && fits(join):
		m.answerJoin(msg, join)
	case c.awaited != nil && fits(*c.awaited):
		m.answerAwaited(msg, *c.awaited)
	default:
		m.handleStrange(Oddity{Kind: Unasked, Why: fmt.Sprintf("replyTo is %q", clipText(msg.ReplyTo(), 80)),
			Message: msg})
	}
}

func (m *Machine) answerJoin(msg Message, join Request) {
	if msg.Type() == proto.ErrorMessage {
		m.handleError(msg, join)
		return
	}
	m.handleJoined()
}

func (m *Machine) answerAwaited(msg Message, r Request) {
	switch msg.Type() {
	case proto.ErrorMessage:
		m.clearRequest()
		m.handleError(msg, r)
	case proto.SessionStarted:
		m.clearRequest()
		m.beginSession(msg)
	case proto.SnapshotState:
		m.handleSnapshot(msg)
	case proto.ToolResult:
		m.toolResult(msg, r)
	case proto.SessionEnded:
		m.clearRequest()
		m.handleSessionEnd(msg)
	}
}

// startSession requests a study session (EA-031).
func (m *Machine) startSession() {
	m.everBegan = true
	m.sendRequest(proto.SessionStart, object{"studyId": m.o.StudyID, "participantId": m.o.ParticipantID})
}

// beginSession begins a new study session and forgets what it learned in the previous one.
func (m *Machine) beginSession(msg Message) {
	m.needStart, m.active, m.begunHere, m.session = false, true, true, ""
	m.setSession(msg.Payload())
	m.calls, m.confirmed, m.call, m.planner = 0, false, nil, m.planner.renewedPlanner()
	clear(m.stages)
	m.addNote("session started", "id", m.session)
	m.requireSnapshot(SessionBegins)
}

// setSession records the study session's id, which is never that of the relay session (EA-103).
func (m *Machine) setSession(payload object) {
	if id, isText := payload["sessionId"].(string); isText && id != "" {
		m.session, m.outcome.Session = id, id
	}
}

// handleSnapshot handles the requested state. If it shows nothing and belongs to another session, no session is active.
func (m *Machine) handleSnapshot(msg Message) {
	state, problem := readState(msg.Payload())
	if problem != "" { // a better reply may follow
		m.handleStrange(Oddity{Kind: Useless, Why: problem, Message: msg})
		return
	}
	m.clearRequest()
	m.needSync = false
	id, _ := msg.Payload()["sessionId"].(string)
	if state.UISpec == nil && !m.isOurSnapshot(id) {
		m.addNote("no session is active")
		m.active, m.needStart = false, true
		return
	}
	m.pause = m.o.Backoff.First
	m.active, m.needStart = true, false
	m.setSession(msg.Payload())
	m.setState(state, "snapshot.state")
	m.concludeCall()
}

// isOurSnapshot reports whether a snapshot that shows nothing belongs to the current study session. On the connection
// that received session.started it always does; on later connections the ids decide, if the host gives any.
func (m *Machine) isOurSnapshot(id string) bool {
	return m.active && (m.begunHere || m.session == "" || id == m.session)
}

// handleUpdate handles a pushed state (EA-055).
func (m *Machine) handleUpdate(msg Message) {
	state, problem := readState(msg.Payload())
	if problem != "" {
		m.handleStrange(Oddity{Kind: Useless, Why: problem, Message: msg})
		return
	}
	m.setState(state, "state.updated")
}

func (m *Machine) setState(s State, from string) {
	s.Serial, s.key = m.last.Serial+1, keyOf(s)
	m.last = s
	m.polling = false
	m.addActions(Disarm{PollTimer})
	m.addNote("state", "from", from, "stage", stageOf(s), "tools", toolNames(s))
}

// handleSessionEnd handles the end of the study session (EA-063).
func (m *Machine) handleSessionEnd(msg Message) {
	m.outcome.LogFile, _ = msg.Payload()["logFile"].(string)
	m.outcome.Ended = true
	m.addNote("session ended", "logFile", clipText(m.outcome.LogFile, 200))
	m.finishRun(nil)
}

// endSession requests the end of the study session, up to three times.
func (m *Machine) endSession() {
	const most = 3
	if m.endings == most {
		m.finishRun(nil)
		return
	}
	m.endings++
	m.sendRequest(proto.SessionEnd, object{"reason": m.outcome.Reason})
}

// handleError handles an error that answers a request.
func (m *Machine) handleError(msg Message, r Request) {
	code, _ := msg.Payload()["code"].(string)
	text, _ := msg.Payload()["message"].(string)
	m.addNote("refused", "type", r.Type, "id", r.ID, "code", clipText(code, 80), "text", clipText(text, 200))
	m.applyRemedy(Failure{Request: r, Code: code, Text: text})
}

// applyRemedy applies the remedy for a failed request.
func (m *Machine) applyRemedy(f Failure) {
	r := m.o.Policy.Failed(m.policyView(), f, remedyFor(f))
	if f.Request.Type == proto.ToolCall {
		m.callFailed(r, f.Code)
	} else if r != Reopen && r != TakeAsDone {
		m.delayNext()
	}
	switch r {
	case Restart:
		m.active, m.needStart, m.needSync = false, true, false
	case Synchronise:
		m.needStart, m.needSync = false, true
	case ShowNothing:
		m.needSync = false
		m.setState(State{}, "error")
		m.concludeCall()
	case Reopen:
		m.replaceConnection(f.Request.Type + " was refused")
	case Despair:
		m.finishRun(fmt.Errorf("%s was refused: %s", f.Request.Type, clipText(f.Code, 80)))
	case TakeAsDone:
		m.takeAsDone(f.Request.Type)
	case TryAnother, TryAgain: // the pending steps stay pending
	}
}

func (m *Machine) takeAsDone(kind string) {
	switch kind {
	case proto.SessionEnd:
		m.outcome.Ended = true
		m.finishRun(nil)
	case proto.SessionStart:
		m.needStart, m.active = false, true
	case proto.SnapshotGet:
		m.needSync = false
	}
}

// handleOverdue handles a missing reply: the agent asks for the state instead, and abandons a connection on which
// nothing is answered.
func (m *Machine) handleOverdue() {
	const most = 3
	r := *m.connection.awaited
	m.addNote("no answer", "type", r.Type, "id", r.ID)
	m.connection.awaited = nil
	if m.unanswered++; m.unanswered == most {
		m.replaceConnection("nothing is answered")
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
		m.requireSnapshot(NoAnswer)
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
func stageOf(s State) string { return clipText(readScreen(s.UISpec).stage, 80) }

// toolNames lists the tools of a state for the log.
func toolNames(s State) string {
	names := make([]string, 0, len(s.Tools))
	for _, t := range s.Tools {
		names = append(names, t.Name)
	}
	return clipText(strings.Join(names, " "), 200)
}

// stateKey is equal for states that show and announce the same.
type stateKey [sha256.Size]byte

func keyOf(s State) stateKey {
	if s.key != (stateKey{}) {
		return s.key
	}
	return sha256.Sum256([]byte(canonicalText(s.UISpec) + canonicalText(s.Tools)))
}

// recordUserMessage records what the user says (EA-060 to EA-062). The reply waits until the agent knows the state.
func (m *Machine) recordUserMessage(msg Message) {
	const most = 64 // unanswered messages kept; a host that floods the agent gets no further replies
	payload := msg.Payload()
	text, isText := payload["text"].(string)
	if !isText {
		m.handleStrange(Oddity{Kind: Useless, Why: "text is not a string", Message: msg})
		return
	}
	stage, _ := payload["stage"].(string)
	m.addNote("user", "text", clipText(text, 200), "stage", clipText(stage, 80))
	m.planner.addWish(text)
	if len(m.unheard) < most {
		m.unheard = append(m.unheard, text)
	}
}

// replyToUser answers the user's oldest message.
func (m *Machine) replyToUser() {
	text := m.unheard[0]
	m.unheard = m.unheard[1:]
	m.sendAgentMessage("Noted, I will prefer what fits: " + quoteText(text))
}

// announceStage announces once per stage what the agent does there (EA-008).
func (m *Machine) announceStage(s State) {
	screen := readScreen(s.UISpec)
	if !m.stages[screen.stage] {
		m.stages[screen.stage] = true
		m.sendAgentMessage(stageComment(screen))
	}
}

// sendAgentMessage sends an agent.message, which has no reply (EA-036).
func (m *Machine) sendAgentMessage(text string) {
	m.sendMessage(proto.AgentMessage, object{"text": text})
	m.addNote("said", "text", clipText(text, 200))
}

func stageComment(s screen) string {
	switch {
	case s.name == "":
		return "I will take the next step of the booking."
	case s.name == proto.ConfirmStage:
		return "Everything is chosen: I will confirm the booking."
	case len(s.items) > 0:
		return fmt.Sprintf("I will make the choice for %s next.", clipText(s.name, 80))
	}
	return fmt.Sprintf("I will go on with %s next.", clipText(s.name, 80))
}

// quoteText quotes another party's text for use in a sentence.
func quoteText(text string) string { return strconv.Quote(clipText(text, 80)) }
