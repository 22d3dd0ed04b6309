package mutants

import (
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// sessionFaults take the agent of one session for that of another, or tell the wrong connection.
var sessionFaults = map[string]fault{
	"shared-agent":               deciding(func(options) rules { return rules{agentKey: func(_, _ string) string { return "" }} }),
	"agent-per-connection":       deciding(func(options) rules { return rules{agentKey: func(_, conn string) string { return conn }} }),
	"broadcasts-switches":        telling(broadcasting(func(ev event) bool { return ev.Type == proto.AgentSwitchedEvent })),
	"broadcasts-refusals":        telling(broadcasting(func(ev event) bool { return isRefusal(ev) })),
	"announces-to-asker":         announcesToAsker,
	"answers-on-oldest":          telling(answersOn(oldest)),
	"answers-on-newest":          telling(answersOn(newest)),
	"refuses-on-oldest":          telling(refusesOn(oldest)),
	"refuses-on-newest":          telling(refusesOn(newest)),
	"acts-for-oldest":            targeting(of(oldest)),
	"acts-for-newest":            targeting(of(newest)),
	"unbound-acts-on-last":       targeting(lastOfAnyone),
	"unbound-acts-on-first":      targeting(firstOfAnyone),
	"unbound-creates":            targeting(creates),
	"needs-session-id":           targeting(needsName),
	"ignores-session-id":         targeting(func(m manager, c connInfo, _ any, _ bool) string { return m.DefaultSession(c.ID) }),
	"unknown-session-is-own":     targeting(unknownIsOwn),
	"unknown-session-is-created": targeting(unknownIsCreated),
	"session-of-last-switch":     sessionOfLastSwitch,
	"switch-changes-all":         deciding(changesAll),
}

func targeting(f func(m manager, c connInfo, raw any, present bool) string) fault {
	return deciding(func(options) rules { return rules{target: f} })
}

// broadcasting tells the others first.
func broadcasting(what func(ev event) bool) func(manager, connInfo, event, sender) {
	return func(m manager, to connInfo, ev event, send sender) {
		if what(ev) {
			for _, c := range m.Connections() {
				if c.ID != to.ID {
					send(c.ID, ev)
				}
			}
		}
		send(to.ID, ev)
	}
}

// announcesToAsker tells of a switch where it was asked for, whosever session it is.
func announcesToAsker(o *options) middleware {
	asker := ""
	o.Inbound = func(_ manager, from connInfo, msg message) []message {
		asker = from.ID
		return []message{msg}
	}
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.AgentSwitchedEvent {
			to.ID = asker
		}
		send(to.ID, ev)
	}
	return nil
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

func answersOn(which func(manager, connInfo) connInfo) func(manager, connInfo, event, sender) {
	return func(m manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.AgentSwitchedEvent {
			to = which(m, to)
		}
		send(to.ID, ev)
	}
}

func refusesOn(which func(manager, connInfo) connInfo) func(manager, connInfo, event, sender) {
	return func(m manager, to connInfo, ev event, send sender) {
		if isRefusal(ev) {
			to = which(m, to)
		}
		send(to.ID, ev)
	}
}

// of acts for another connection where no session is named.
func of(which func(manager, connInfo) connInfo) func(manager, connInfo, any, bool) string {
	return func(m manager, c connInfo, raw any, present bool) string {
		if !present {
			c = which(m, c)
		}
		return correct.Target(m, c, raw, present)
	}
}

func lastOfAnyone(m manager, c connInfo, raw any, present bool) string {
	own := correct.Target(m, c, raw, present)
	if all := m.Sessions(); own == "" && !present && len(all) > 0 {
		return all[len(all)-1]
	}
	return own
}

func firstOfAnyone(m manager, c connInfo, raw any, present bool) string {
	own := correct.Target(m, c, raw, present)
	if all := m.Sessions(); own == "" && !present && len(all) > 0 {
		return all[0]
	}
	return own
}

func creates(m manager, c connInfo, raw any, present bool) string {
	own := correct.Target(m, c, raw, present)
	if own == "" && !present {
		own = m.NewSession(c)
		m.SetDefault(c.ID, own)
	}
	return own
}

func needsName(m manager, c connInfo, raw any, present bool) string {
	if !present {
		return ""
	}
	return correct.Target(m, c, raw, present)
}

func unknownIsOwn(m manager, c connInfo, raw any, present bool) string {
	if named := correct.Target(m, c, raw, present); named != "" {
		return named
	}
	return m.DefaultSession(c.ID)
}

func unknownIsCreated(m manager, c connInfo, raw any, present bool) string {
	named := correct.Target(m, c, raw, present)
	if named == "" && present {
		return m.NewSession(c)
	}
	return named
}

// sessionOfLastSwitch remembers one session for all messages that name none.
func sessionOfLastSwitch(o *options) middleware {
	last := ""
	o.Policy = rules{
		target: func(m manager, c connInfo, raw any, present bool) string {
			if own := correct.Target(m, c, raw, present); present || last == "" || own == "" {
				return own
			}
			return last
		},
		commit: func(sw agentselect.Switch, set func(string)) {
			correct.Commit(sw, set)
			if sw.Refusal == nil {
				last = sw.Session
			}
		},
	}
	return nil
}

// changesAll switches every session that has switched before.
func changesAll(options) rules {
	setters := map[string]func(string){}
	return rules{commit: func(sw agentselect.Switch, set func(string)) {
		if sw.Refusal != nil {
			return
		}
		setters[sw.Session] = set
		for _, set := range setters {
			set(sw.AgentID)
		}
	}}
}
