package agent

import (
	"fmt"
	"strconv"

	proto "parley/protocol/externalagent"
)

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
