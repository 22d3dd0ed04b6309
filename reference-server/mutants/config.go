package mutants

import (
	"fmt"
	"os"
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// configFaults mistreat the agents file.
var configFaults = map[string]fault{
	"list-from-start":            deciding(fromStart(agentselect.ForConnect)),
	"validates-from-start":       deciding(fromStart(agentselect.ForSwitch)),
	"accepts-deleted-agents":     deciding(acceptsDeleted),
	"refuses-added-agents":       deciding(refusesAdded),
	"renamed-agents-keep-name":   deciding(keepsNames),
	"pushes-changes":             pushesChanges,
	"rewrites-config-on-switch":  rewritesConfig,
	"reformats-config-on-switch": touchesConfig,
}

// acceptsDeleted still knows every agent that it has ever known.
func acceptsDeleted(options) rules {
	var known []agent
	return rules{agents: func(why agentselect.Purpose, now []agent) []agent {
		for _, a := range now {
			if !slices.ContainsFunc(known, func(k agent) bool { return k.ID == a.ID }) {
				known = append(known, a)
			}
		}
		if why == agentselect.ForSwitch || why == agentselect.ForTurn {
			return known
		}
		return now
	}}
}

func refusesAdded(options) rules {
	var first []agent
	return rules{agents: func(why agentselect.Purpose, now []agent) []agent {
		if first == nil {
			first = now
		}
		if why != agentselect.ForSwitch {
			return now
		}
		return slices.DeleteFunc(slices.Clone(now), func(a agent) bool {
			return !slices.ContainsFunc(first, func(f agent) bool { return f.ID == a.ID })
		})
	}}
}

// keepsNames shows each agent for ever under the name under which it was first seen.
func keepsNames(options) rules {
	names := map[string]string{}
	return rules{agents: func(_ agentselect.Purpose, now []agent) []agent {
		now = slices.Clone(now)
		for i, a := range now {
			if _, seen := names[a.ID]; !seen {
				names[a.ID] = a.Name
			}
			now[i].Name = names[a.ID]
		}
		return now
	}}
}

// pushesChanges tells everybody of a new list, as soon as anything makes it look at the file.
func pushesChanges(o *options) middleware {
	var known string
	var send sender
	look := func(m manager) {
		now := fmt.Sprint(m.Agents())
		if known != "" && now != known && send != nil {
			for _, c := range m.Connections() {
				send(c.ID, agentList(m, c))
			}
		}
		known = now
	}
	o.Outbound = func(m manager, to connInfo, ev event, s sender) {
		if ev.Type == proto.ConnectedEvent {
			// Who is just being connected hears of it by the greeting.
			send = func(id string, ev event) {
				if id != to.ID {
					s(id, ev)
				}
			}
			look(m)
		}
		send = s
		s(to.ID, ev)
	}
	o.Inbound = func(m manager, _ connInfo, msg message) []message {
		look(m)
		return []message{msg}
	}
	return nil
}

// rewritesConfig keeps the last choice in the agents file, as a default.
func rewritesConfig(o *options) middleware {
	path := o.AgentsFile
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.AgentSwitchedEvent && path != "" {
			if old, err := os.ReadFile(path); err == nil {
				_ = os.WriteFile(path, fmt.Appendf(old, "\n# current = %q\n", ev.Data[currentKey]), 0o600)
			}
		}
		send(to.ID, ev)
	}
	return nil
}

// touchesConfig writes the file back without its last byte, which is most often a line end.
func touchesConfig(o *options) middleware {
	path := o.AgentsFile
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.AgentSwitchedEvent && path != "" {
			if old, err := os.ReadFile(path); err == nil && len(old) > 0 && old[len(old)-1] == '\n' {
				_ = os.WriteFile(path, old[:len(old)-1], 0o600)
			}
		}
		send(to.ID, ev)
	}
	return nil
}
