package agent

import (
	"fmt"
	"strconv"

	proto "parley/protocol/externalagent"
)

// userMessage is a user.message that has no reply yet.
type userMessage struct{ text, stage string }

// told takes what the user says (EA-060 to EA-062). It is answered as soon as the agent knows where it stands.
func (m *Machine) told(msg Message) {
	const most = 64 // without a reply; a host that floods the agent gets no more
	payload := msg.Payload()
	text, isText := payload["text"].(string)
	if !isText {
		m.strange(Oddity{Kind: Useless, Why: "text is no text", Message: msg})
		return
	}
	stage, _ := payload["stage"].(string)
	m.note("user", "text", clip(text, 200), "stage", clip(stage, 80))
	m.planner.wish(text)
	if len(m.unheard) < most {
		m.unheard = append(m.unheard, userMessage{text, stage})
	}
}

// reply answers the user's oldest message.
func (m *Machine) reply() {
	u := m.unheard[0]
	m.unheard = m.unheard[1:]
	for _, text := range m.o.Policy.Reply(m.view(), u.text, u.stage) {
		m.say(text)
	}
}

// comment says once per stage what is going on (EA-008).
func (m *Machine) comment(s State) {
	stage := readScreen(s.UISpec).stage
	if m.stages[stage] {
		return
	}
	m.stages[stage] = true
	if text := m.o.Policy.Comment(m.view(), s); text != "" {
		m.say(text)
	}
}

// say sends an agent.message, which nothing answers (EA-036).
func (m *Machine) say(text string) {
	m.send(proto.AgentMessage, object{"text": text})
	m.note("said", "text", clip(text, 200))
}

// stageComment announces what is done at a stage.
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

// quote puts words of others into a sentence.
func quote(text string) string { return strconv.Quote(clip(text, 80)) }
