package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// turnFaults give conversations the wrong configuration.
var turnFaults = map[string]fault{
	"keeps-the-prompt":      configuring(func(c *agentselect.Config) { c.Prompt = general().Prompt }),
	"keeps-the-tools":       configuring(func(c *agentselect.Config) { c.Tools = general().Tools }),
	"offers-all-tools":      configuring(allTools),
	"no-prompt-for-custom":  configuring(ifCustom(func(c *agentselect.Config) { c.Prompt = "" })),
	"no-tools-for-custom":   configuring(ifCustom(func(c *agentselect.Config) { c.Tools = nil })),
	"prompt-one-turn-late":  deciding(oneTurnLate),
	"first-turn-decides":    deciding(firstTurnDecides),
	"turns-share-an-agent":  deciding(turnsShareAgent),
	"custom-prompt-sticks":  deciding(customSticks(func(c *agentselect.Config, last agentselect.Config) { c.Prompt = last.Prompt })),
	"custom-tools-stick":    deciding(customSticks(func(c *agentselect.Config, last agentselect.Config) { c.Tools = last.Tools })),
	"prompt-lost-with-tool": deciding(promptLost),
	"abort-keeps-old-agent": abortKeepsAgent,
}

func general() agent { return agentselect.Builtins()[0] }

// configuring spoils what a correct server would give.
func configuring(spoil func(c *agentselect.Config)) fault {
	return deciding(func(options) rules {
		return rules{configure: func(t agentselect.TurnView) agentselect.Config {
			c := correct.Configure(t)
			spoil(&c)
			return c
		}}
	})
}

// allTools offers every agent the tools of all.
func allTools(c *agentselect.Config) {
	all := []string{"list_changes"} // of the custom agent
	for _, a := range append(agentselect.Builtins(), agent{Tools: c.Tools}) {
		all = append(all, a.Tools...)
	}
	slices.Sort(all)
	c.Tools = slices.Compact(all)
}

func ifCustom(spoil func(c *agentselect.Config)) func(c *agentselect.Config) {
	return func(c *agentselect.Config) {
		if !isBuiltin(c.AgentID) {
			spoil(c)
		}
	}
}

// oneTurnLate answers with what it loaded at the end of the turn before.
func oneTurnLate(options) rules {
	loaded := map[string]agentselect.Config{}
	return rules{configure: func(t agentselect.TurnView) agentselect.Config {
		if t.Call > 1 {
			return t.Started
		}
		late, found := loaded[t.Session]
		loaded[t.Session] = t.Now
		if !found {
			return general().Config()
		}
		return late
	}}
}

// firstTurnDecides keeps a session on the agent of its first conversation.
func firstTurnDecides(options) rules {
	first := map[string]agentselect.Config{}
	return rules{configure: func(t agentselect.TurnView) agentselect.Config {
		if _, found := first[t.Session]; !found {
			first[t.Session] = t.Now
		}
		return first[t.Session]
	}}
}

// turnsShareAgent keeps an agent per session, and asks the model with the one that was switched to last.
func turnsShareAgent(options) rules {
	last, now := "", []agent(nil)
	return rules{
		agents: func(_ agentselect.Purpose, all []agent) []agent {
			now = all
			return all
		},
		commit: func(sw agentselect.Switch, set func(string)) {
			correct.Commit(sw, set)
			if sw.Refusal == nil {
				last = sw.AgentID
			}
		},
		configure: func(t agentselect.TurnView) agentselect.Config {
			i := slices.IndexFunc(now, func(a agent) bool { return a.ID == last })
			if i < 0 || t.Call > 1 {
				return correct.Configure(t)
			}
			return now[i].Config()
		},
	}
}

// customSticks leaves a part of a custom agent behind when a session goes back to a built-in one.
func customSticks(stick func(c *agentselect.Config, last agentselect.Config)) func(options) rules {
	return func(options) rules {
		last := map[string]agentselect.Config{}
		return rules{configure: func(t agentselect.TurnView) agentselect.Config {
			c := correct.Configure(t)
			if !isBuiltin(c.AgentID) {
				last[t.Session] = c
			} else if left, found := last[t.Session]; found {
				stick(&c, left)
			}
			return c
		}}
	}
}

// promptLost goes on without the agent's prompt once a tool has answered.
func promptLost(options) rules {
	return rules{configure: func(t agentselect.TurnView) agentselect.Config {
		c := correct.Configure(t)
		if t.Call > 1 {
			c.Prompt = general().Prompt
		}
		return c
	}}
}

// abortKeepsAgent leaves the configuration of an aborted turn for the next one.
func abortKeepsAgent(o *options) middleware {
	aborted := map[string]bool{}
	running := map[string]agentselect.Config{}
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.CompleteEvent && ev.Data["cancelled"] == true {
			aborted[ev.Data["sessionId"].(string)] = true
		}
		send(to.ID, ev)
	}
	o.Policy = rules{configure: func(t agentselect.TurnView) agentselect.Config {
		c := correct.Configure(t)
		if t.Call == 1 && aborted[t.Session] {
			delete(aborted, t.Session)
			c = running[t.Session]
		}
		running[t.Session] = c
		return c
	}}
	return nil
}
