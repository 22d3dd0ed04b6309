package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// turnFaults use the wrong configuration for conversations.
var turnFaults = map[string]fault{
	"keeps-the-prompt":      configuring(func(c *config) { c.Prompt = general().Prompt }),
	"keeps-the-tools":       configuring(func(c *config) { c.Tools = general().Tools }),
	"offers-all-tools":      configuring(allTools),
	"no-prompt-for-custom":  configuring(ifCustom(func(c *config) { c.Prompt = "" })),
	"no-tools-for-custom":   configuring(ifCustom(func(c *config) { c.Tools = nil })),
	"prompt-one-turn-late":  oneTurnLate,
	"first-turn-decides":    firstTurnDecides,
	"turns-share-an-agent":  turnsShareAgent,
	"custom-prompt-sticks":  customSticks(func(c *config, last config) { c.Prompt = last.Prompt }),
	"custom-tools-stick":    customSticks(func(c *config, last config) { c.Tools = last.Tools }),
	"prompt-lost-with-tool": deciding(rules{Configure: promptLost}),
	"abort-keeps-old-agent": abortKeepsAgent,
}

type config = agentselect.Config

func general() agent { return agentselect.Builtins()[0] }

// configuring changes the correct configuration.
func configuring(spoil func(c *config)) fault {
	return deciding(rules{Configure: func(t agentselect.TurnView) config {
		c := correct.Configure(t)
		spoil(&c)
		return c
	}})
}

// allTools offers every agent the tools of all.
func allTools(c *config) {
	all := []string{"list_changes"} // tool of the custom agent
	for _, a := range append(agentselect.Builtins(), agent{Tools: c.Tools}) {
		all = append(all, a.Tools...)
	}
	slices.Sort(all)
	c.Tools = slices.Compact(all)
}

func ifCustom(spoil func(c *config)) func(c *config) {
	return func(c *config) {
		if !isBuiltin(c.AgentID) {
			spoil(c)
		}
	}
}

// oneTurnLate uses the configuration loaded for the previous turn.
func oneTurnLate(o *options) {
	loaded := map[string]config{}
	o.Policy.Configure = func(t agentselect.TurnView) config {
		if t.Call > 1 {
			return t.Started
		}
		late, found := loaded[t.Session]
		loaded[t.Session] = t.Now
		if !found {
			return general().Config()
		}
		return late
	}
}

// firstTurnDecides keeps a session on the agent of its first conversation.
func firstTurnDecides(o *options) {
	first := map[string]config{}
	o.Policy.Configure = func(t agentselect.TurnView) config {
		if _, found := first[t.Session]; !found {
			first[t.Session] = t.Now
		}
		return first[t.Session]
	}
}

// turnsShareAgent keeps an agent per session but uses the last one switched to for every turn.
func turnsShareAgent(o *options) {
	last, now := "", []agent(nil)
	o.Policy.Agents = func(_ agentselect.Purpose, all []agent) []agent {
		now = all
		return all
	}
	o.Policy.Commit = committed(func(sw agentselect.Switch) { last = sw.AgentID })
	o.Policy.Configure = func(t agentselect.TurnView) config {
		i := slices.IndexFunc(now, func(a agent) bool { return a.ID == last })
		if i < 0 || t.Call > 1 {
			return correct.Configure(t)
		}
		return now[i].Config()
	}
}

// customSticks keeps part of a custom agent's configuration when a session returns to a built-in agent.
func customSticks(stick func(c *config, last config)) fault {
	return func(o *options) {
		last := map[string]config{}
		o.Policy.Configure = func(t agentselect.TurnView) config {
			c := correct.Configure(t)
			if !isBuiltin(c.AgentID) {
				last[t.Session] = c
			} else if left, found := last[t.Session]; found {
				stick(&c, left)
			}
			return c
		}
	}
}

// promptLost continues without the agent's prompt after a tool result.
func promptLost(t agentselect.TurnView) config {
	c := correct.Configure(t)
	if t.Call > 1 {
		c.Prompt = general().Prompt
	}
	return c
}

// abortKeepsAgent reuses the configuration of an aborted turn for the next one.
func abortKeepsAgent(o *options) {
	aborted := map[string]bool{}
	running := map[string]config{}
	o.Outbound = changed(of(proto.CompleteEvent), func(_ manager, _ *connInfo, ev *event) {
		if ev.Data["cancelled"] == true {
			aborted[ev.Data["sessionId"].(string)] = true
		}
	})
	o.Policy.Configure = func(t agentselect.TurnView) config {
		c := correct.Configure(t)
		if t.Call == 1 && aborted[t.Session] {
			delete(aborted, t.Session)
			c = running[t.Session]
		}
		running[t.Session] = c
		return c
	}
}
