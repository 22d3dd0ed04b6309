package agents

import (
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// stateFaults act on another state than the last one, or do not ask for it.
var stateFaults = map[string]fault{
	"acts-on-the-result":         deciding(actsOnResult),
	"acts-before-the-state":      deciding(func() rules { return rules{settled: func(view) bool { return true }} }),
	"acts-behind-ok-alone":       deciding(func() rules { return rules{settled: okAlone} }),
	"tools-of-the-first-state":   choosingFrom(firstTools),
	"tools-of-the-last-snapshot": snapshotTools,
	"tools-of-the-state-before":  choosingFrom(toolsBefore),
	"tools-learnt-so-far":        choosingFrom(toolsLearnt),
	"tools-kept-if-none-come":    deciding(toolsKept),
	"ui-kept-if-null-comes":      deciding(uiKept),
	"state-before-result-lost":   stateBeforeResultLost,
	"deaf-to-states":             deafToStates,
	"goes-on-after-a-while":      deciding(func() rules { return goesOnWithout(agent.NoUpdate) }),
	"waits-for-the-state-always": deciding(func() rules { return rules{resync: wants(agent.NoUpdate)} }),
	"no-snapshot-on-return":      deciding(func() rules { return rules{resync: wants(agent.Reconnected)} }),
	"snapshot-after-a-call":      deciding(snapshotAfterCall),
	"snapshot-not-awaited":       telling(notAwaited),
	"returns-with-the-old-state": deciding(oldState),
	"repeats-the-lost-call":      telling(repeatsLost),
}

// wants a snapshot on every occasion of a correct agent but one.
func wants(but agent.Occasion) func(v view, why agent.Occasion) bool {
	return func(v view, why agent.Occasion) bool { return why != but && correct.Resync(v, why) }
}

// anew is a state with other tools.
func anew(s state, tools []proto.Tool) state {
	return state{Serial: s.Serial, UISpec: s.UISpec, Tools: tools, History: s.History}
}

// actsOnResult goes on as soon as a result has a uiSpec: by that, and the tools of before.
func actsOnResult() rules {
	var quick *state
	return rules{
		settled: func(v view) bool {
			if spec, ok := v.Result["uiSpec"].(object); ok {
				s := state{Serial: v.Last.Serial, UISpec: spec, Tools: v.Call.Before.Tools, History: v.Last.History}
				quick = &s
				return true
			}
			return correct.Settled(v)
		},
		state: func(v view) state {
			if quick == nil {
				return v.Last
			}
			return *quick
		},
		choose: func(v view, s state, candidates []call) (call, bool) {
			quick = nil
			return correct.Choose(v, s, candidates)
		},
	}
}

// okAlone waits for a state behind a result that has a uiSpec only.
func okAlone(v view) bool {
	_, quick := v.Result["uiSpec"]
	return !quick || correct.Settled(v)
}

// choosingFrom has the tools of a shown state be others than those that are announced.
func choosingFrom(make func() func(v view) []proto.Tool) fault {
	return deciding(func() rules {
		tools := make()
		return rules{state: func(v view) state {
			if list := tools(v); v.Last.UISpec != nil && len(list) > 0 {
				return anew(v.Last, list)
			}
			return v.Last
		}}
	})
}

// firstTools reads toolSchema once.
func firstTools() func(v view) []proto.Tool {
	var tools []proto.Tool
	return func(v view) []proto.Tool {
		if len(tools) == 0 {
			tools = v.Last.Tools
		}
		return tools
	}
}

// toolsBefore puts the tools into use with the next state.
func toolsBefore() func(v view) []proto.Tool {
	var before, now []proto.Tool
	serial := 0
	return func(v view) []proto.Tool {
		if v.Last.Serial != serial {
			before, now, serial = now, v.Last.Tools, v.Last.Serial
		}
		return before
	}
}

// toolsLearnt adds the tools of each state to those that it has, of which the old ones come first.
func toolsLearnt() func(v view) []proto.Tool {
	var all []proto.Tool
	return func(v view) []proto.Tool {
		for _, t := range v.Last.Tools {
			if !slices.ContainsFunc(all, func(o proto.Tool) bool { return o.Name == t.Name }) {
				all = append(all, t)
			}
		}
		return all
	}
}

// snapshotTools reads toolSchema in snapshots, and uiSpec in what follows.
func snapshotTools(o *options) {
	var tools []proto.Tool
	taken, snapshot := 0, false
	o.Inbound = func(_ view, msg message) []message {
		snapshot = msg.Type() == proto.SnapshotState
		return []message{msg}
	}
	o.Policy = rules{state: func(v view) state {
		if snapshot && v.Last.Serial != taken {
			tools, taken = v.Last.Tools, v.Last.Serial
		}
		if v.Last.UISpec == nil || len(tools) == 0 {
			return v.Last
		}
		return anew(v.Last, tools)
	}}
}

// toolsKept keeps the state that had tools while none are announced.
func toolsKept() rules {
	var kept *state
	return rules{state: func(v view) state {
		if len(v.Last.Tools) > 0 || v.Last.UISpec == nil || kept == nil {
			s := v.Last
			kept = &s
		}
		return *kept
	}}
}

// uiKept takes uiSpec from a state, or a result, that has one, and toolSchema from any.
func uiKept() rules {
	var kept object
	return rules{
		settled: func(v view) bool {
			if spec, ok := v.Result["uiSpec"].(object); ok {
				kept = spec
			}
			return correct.Settled(v)
		},
		state: func(v view) state {
			s := v.Last
			if s.UISpec != nil || kept == nil || len(s.Tools) == 0 {
				if s.UISpec != nil {
					kept = s.UISpec
				}
				return s
			}
			return state{Serial: s.Serial, UISpec: kept, Tools: s.Tools, History: s.History}
		},
	}
}

// stateBeforeResultLost throws away what comes while it waits for a result, and then has no state to wait for.
func stateBeforeResultLost(o *options) {
	came := false
	o.Inbound = func(v view, msg message) []message {
		if msg.Type() == proto.StateUpdated && v.Awaited != nil && v.Awaited.Type == proto.ToolCall {
			came = true
			return nil
		}
		return []message{msg}
	}
	o.Policy = rules{settled: func(v view) bool {
		if came {
			came = false
			return true
		}
		return correct.Settled(v)
	}}
}

// deafToStates knows of no state.updated: a snapshot at the beginning, and results, are all that it reads.
func deafToStates(o *options) {
	o.Inbound = func(_ view, msg message) []message {
		if msg.Type() == proto.StateUpdated {
			return nil
		}
		return []message{msg}
	}
	o.Policy = rules{settled: func(view) bool { return true }}
}

// goesOnWithout goes on by the old state where a snapshot should be asked for.
func goesOnWithout(occasion agent.Occasion) rules {
	enough := false
	return rules{
		resync: func(v view, why agent.Occasion) bool {
			enough = why == occasion
			return !enough && correct.Resync(v, why)
		},
		settled: func(v view) bool {
			defer func() { enough = false }()
			return enough || correct.Settled(v)
		},
	}
}

// snapshotAfterCall asks for a snapshot once it has tried, on a new connection, whether it is still in step.
func snapshotAfterCall() rules {
	return rules{resync: func(v view, why agent.Occasion) bool {
		return why != agent.Reconnected && (why != agent.CallConfirmed || v.Connection > 1)
	}}
}

// notAwaited makes the latest call again right behind the snapshot.get of a new connection.
func notAwaited() agent.Outbound { return callingAgain(func(ask, again func()) { ask(); again() }) }

// repeatsLost makes the call again that was lost with its connection, and then asks for a snapshot.
func repeatsLost() agent.Outbound { return callingAgain(func(ask, again func()) { again(); ask() }) }

// callingAgain makes the latest call again where the first snapshot.get of a new connection is.
func callingAgain(f func(ask, again func())) agent.Outbound {
	var latest message
	connection := 1
	return func(v view, msg message, send sender) {
		if msg.Type() == proto.ToolCall {
			latest = msg
		}
		if msg.Type() != proto.SnapshotGet || v.Connection == connection || latest == nil {
			send(msg)
			return
		}
		connection = v.Connection
		f(func() { send(msg) }, func() { send(latest.With("id", latest.ID()+"-again")) })
	}
}

// oldState makes its first call on a new connection by what it knew on the old one.
func oldState() rules {
	var old state
	connection := 1
	return rules{
		state: func(v view) state {
			if v.Connection == connection || old.UISpec == nil {
				connection, old = v.Connection, v.Last
			}
			return old
		},
		choose: func(v view, s state, candidates []call) (call, bool) {
			connection = v.Connection
			return correct.Choose(v, s, candidates)
		},
	}
}
