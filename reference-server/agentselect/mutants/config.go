package mutants

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"parley/reference-server/agentselect"
)

// configFaults handle the agents file incorrectly.
var configFaults = map[string]fault{
	"list-from-start":          fromStart(agentselect.ForConnect),
	"validates-from-start":     fromStart(agentselect.ForSwitch),
	"accepts-deleted-agents":   acceptsDeleted,
	"refuses-added-agents":     refusesAdded,
	"renamed-agents-keep-name": keepsNames(),
	"announces-former-names":   keepsNames(agentselect.ForSwitch),
	"pushes-changes":           pushesChanges,
	"rewrites-config-on-switch": writing(
		func(old []byte, d eventData) []byte { return fmt.Appendf(old, "\n# current = %q\n", d[currentKey]) }),
	"reformats-config-on-switch": writing(
		func(old []byte, _ eventData) []byte { return bytes.TrimSuffix(old, []byte("\n")) }),
}

// acceptsDeleted keeps accepting agents that have been removed.
func acceptsDeleted(o *options) {
	var known []agent
	o.Policy.Agents = func(why agentselect.Purpose, now []agent) []agent {
		for _, a := range now {
			if !hasAgent(known, a) {
				known = append(known, a)
			}
		}
		if why == agentselect.ForSwitch || why == agentselect.ForTurn {
			return known
		}
		return now
	}
}

func hasAgent(list []agent, a agent) bool {
	return slices.ContainsFunc(list, func(l agent) bool { return l.ID == a.ID })
}

func refusesAdded(o *options) {
	var first []agent
	o.Policy.Agents = func(why agentselect.Purpose, now []agent) []agent {
		if first == nil {
			first = now
		}
		if why != agentselect.ForSwitch {
			return now
		}
		return slices.DeleteFunc(slices.Clone(now), func(a agent) bool { return !hasAgent(first, a) })
	}
}

// keepsNames shows each agent forever under its first name, for some purposes; without any, for all.
func keepsNames(purposes ...agentselect.Purpose) fault {
	return func(o *options) {
		names := map[string]string{}
		o.Policy.Agents = func(why agentselect.Purpose, now []agent) []agent {
			if len(purposes) > 0 && !slices.Contains(purposes, why) {
				return now
			}
			now = slices.Clone(now)
			for i, a := range now {
				if _, seen := names[a.ID]; !seen {
					names[a.ID] = a.Name
				}
				now[i].Name = names[a.ID]
			}
			return now
		}
	}
}

// pushesChanges sends everyone a changed list as soon as anything makes it read the file.
func pushesChanges(o *options) {
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
		if greets(ev) {
			// A client that is just connecting gets the list with the greeting.
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
	o.Inbound = func(m manager, _ connInfo, _ message) bool {
		look(m)
		return true
	}
}

// writing rewrites the agents file at each switch.
func writing(f func(old []byte, d eventData) []byte) fault {
	return func(o *options) {
		path := o.AgentsFile
		o.Outbound = changed(confirms, func(_ manager, _ *connInfo, ev *event) {
			if old, err := os.ReadFile(path); err == nil {
				_ = os.WriteFile(path, f(old, ev.Data), 0o600)
			}
		})
	}
}
