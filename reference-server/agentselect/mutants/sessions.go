package mutants

import (
	"slices"
	"strings"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// sessionFaults use the agent of another session, or send to the wrong connection.
var sessionFaults = map[string]fault{
	"shared-agent":          deciding(rules{AgentKey: func(_, _ string) string { return "" }}),
	"agent-per-connection":  deciding(rules{AgentKey: func(_, conn string) string { return conn }}),
	"broadcasts-switches":   broadcasting(confirms),
	"broadcasts-refusals":   broadcasting(refuses()),
	"announces-to-asker":    announcesToAsker,
	"answers-on-oldest":     elsewhere(confirms, oldest),
	"answers-on-newest":     elsewhere(confirms, newest),
	"refuses-on-oldest":     elsewhere(refuses(), oldest),
	"refuses-on-newest":     elsewhere(refuses(), newest),
	"acts-for-oldest":       targeting(unnamed(oldest)),
	"named-becomes-default": targeting(remembersNamed),
	"acts-for-newest":       targeting(unnamed(newest)),
	"unbound-acts-on-last":  targeting(orElse(lastOfAnyone, false)),
	"unbound-acts-on-first": targeting(orElse(firstOfAnyone, false)),
	"unbound-creates":       targeting(orElse(creates, false)),
	"needs-session-id":      targeting(needsName),
	"ignores-session-id": targeting(
		func(m manager, c connInfo, _ message) string { return m.DefaultSession(c.ID) }),
	"unknown-session-is-own": targeting(
		orElse(func(m manager, c connInfo) string { return m.DefaultSession(c.ID) }, true)),
	"unknown-session-is-created": targeting(orElse(func(m manager, c connInfo) string { return m.NewSession(c) }, true)),
	"session-of-last-switch":     sessionOfLastSwitch,
	"session-ids-are-trimmed":    findingSession(func(asked, id string) bool { return strings.TrimSpace(asked) == id }),
	"session-ids-without-case":   findingSession(strings.EqualFold),
	"switch-changes-all":         changesAll,
}

// findingSession looks sessions up by what is like their ids.
func findingSession(like func(asked, id string) bool) fault {
	return receiving(func(m manager, _ connInfo, msg message) bool {
		asked, _ := msg["sessionId"].(string)
		i := slices.IndexFunc(m.Sessions(), func(id string) bool { return like(asked, id) })
		if msg["type"] == proto.SwitchAgentType && i >= 0 {
			msg["sessionId"] = m.Sessions()[i]
		}
		return true
	})
}

func targeting(f func(m manager, c connInfo, msg message) string) fault {
	return deciding(rules{Target: f})
}

// orElse uses another session if the named one does not exist, or if none was named.
func orElse(other func(m manager, c connInfo) string, named bool) func(manager, connInfo, message) string {
	return func(m manager, c connInfo, msg message) string {
		session := correct.Target(m, c, msg)
		if _, present := msg["sessionId"]; session == "" && present == named {
			return other(m, c)
		}
		return session
	}
}

// broadcasting sends to the other connections first.
func broadcasting(what which) fault {
	return telling(func(m manager, to connInfo, ev event, send sender) {
		for _, c := range m.Connections() {
			if what(ev) && c.ID != to.ID {
				send(c.ID, ev)
			}
		}
		send(to.ID, ev)
	})
}

// announcesToAsker sends agent_switched to the asking connection, whichever session it is about.
func announcesToAsker(o *options) {
	asker := connInfo{}
	o.Inbound = func(_ manager, from connInfo, _ message) bool {
		asker = from
		return true
	}
	elsewhere(confirms, func(manager, connInfo) connInfo { return asker })(o)
}

func oldest(m manager, c connInfo) connInfo {
	if all := m.Connections(); len(all) > 0 {
		return all[0]
	}
	return c
}

func newest(m manager, c connInfo) connInfo {
	if all := m.Connections(); len(all) > 0 {
		return all[len(all)-1]
	}
	return c
}

// remembersNamed makes a session that a switch names the one that its connection means without a name.
func remembersNamed(m manager, c connInfo, msg message) string {
	session := correct.Target(m, c, msg)
	if msg["sessionId"] == any(session) && msg["type"] == proto.SwitchAgentType && m.Owner(session) == c.ID {
		m.SetDefault(c.ID, session)
	}
	return session
}

// unnamed acts for another connection if no session is named.
func unnamed(which func(manager, connInfo) connInfo) func(manager, connInfo, message) string {
	return func(m manager, c connInfo, msg message) string {
		if _, present := msg["sessionId"]; !present {
			c = which(m, c)
		}
		return correct.Target(m, c, msg)
	}
}

func lastOfAnyone(m manager, _ connInfo) string {
	all := append([]string{""}, m.Sessions()...)
	return all[len(all)-1]
}

func firstOfAnyone(m manager, _ connInfo) string { return append(m.Sessions(), "")[0] }

func creates(m manager, c connInfo) string {
	own := m.NewSession(c)
	m.SetDefault(c.ID, own)
	return own
}

func needsName(m manager, c connInfo, msg message) string {
	if _, present := msg["sessionId"]; !present {
		return ""
	}
	return correct.Target(m, c, msg)
}

// sessionOfLastSwitch uses one session for all messages that name none.
func sessionOfLastSwitch(o *options) {
	last := ""
	o.Policy.Target = func(m manager, c connInfo, msg message) string {
		own := correct.Target(m, c, msg)
		if _, present := msg["sessionId"]; present || last == "" || own == "" {
			return own
		}
		return last
	}
	o.Policy.Commit = committed(func(sw agentselect.Switch) { last = sw.Session })
}

// changesAll switches every session that has switched before.
func changesAll(o *options) {
	setters := map[string]func(string){}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		if sw.Refusal != nil {
			return
		}
		setters[sw.Session] = set
		for _, set := range setters {
			set(sw.AgentID)
		}
	}
}
