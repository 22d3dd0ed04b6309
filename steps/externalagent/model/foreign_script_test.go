package model

import "strings"

// flip exchanges sent and received messages, because the target is the agent.
func flip(lines string) string {
	return strings.NewReplacer("A > ", "A < ", "A < ", "A > ").Replace(lines)
}

// onB moves messages to another connection.
func onB(lines string) string {
	return strings.NewReplacer("A > ", "B > ", "A < ", "B < ", "A open", "B open").Replace(lines)
}

// ask returns a request of the agent, hear a message to it.
func ask(kind, id, payload string) string {
	return `A > {"v":"mvp-0.2","type":"` + kind + `","id":"` + id + `","payload":` + payload + "}\n"
}

func hear(kind, to, payload string) string {
	if to != "" {
		to = `,"replyTo":"` + to + `"`
	}
	return `A < {"v":"mvp-0.2","type":"` + kind + `"` + to + `,"payload":` + payload + "}\n"
}

func refuse(to, code string) string {
	return hear("error", to, `{"code":"`+code+`","message":"m"}`)
}

// call returns a tool.call.
func call(id, tool, params string) string {
	return ask("tool.call", id, `{"toolName":"`+tool+`","params":`+params+`,"reason":"r"}`)
}

// showing returns the members of a state.
func showing(spec, history, tools string) string {
	return `"uiSpec":` + spec + `,"messageHistory":[` + history + `],"toolSchema":[` + tools + `]`
}

func updated(state string) string {
	return hear("state.updated", "", `{"source":"host",`+state+"}")
}

func snap(id, state string) string {
	return ask("snapshot.get", id, "{}") + hear("snapshot.state", id, `{"sessionId":"s-1",`+state+"}")
}
