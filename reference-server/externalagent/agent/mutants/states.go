package mutants

import (
	"context"
	"slices"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/wire"
)

// stateFaults act on a state other than the last one, or do not ask for it.
var stateFaults = map[string]fault{
	"acts-on-the-result":         actsOnResult,
	"acts-before-the-state":      deciding(policy{Settled: func(view, bool) bool { return true }}),
	"acts-behind-ok-alone":       deciding(policy{Settled: okAlone}),
	"acts-by-its-own-clock":      both(deciding(policy{Settled: okAlone}), pausing(3, 6)),
	"tools-of-the-first-state":   firstTools,
	"tools-of-the-last-snapshot": snapshotTools,
	"tools-of-the-return":        returnTools,
	"tools-of-the-state-before":  toolsBefore,
	"tools-learnt-so-far":        toolsLearnt,
	"tools-kept-if-none-come":    toolsKept,
	"ui-kept-if-null-comes":      uiKept,
	"state-before-result-lost":   stateBeforeResultLost,
	"deaf-to-states":             deafToStates,
	"goes-on-after-a-while":      goesOnAfterAWhile,
	"waits-for-the-state-always": noSnapshot(agent.NoUpdate),
	"calls-when-the-user-speaks": telling(callsWhenSpokenTo),
	"no-snapshot-on-return":      noSnapshot(agent.Reconnected),
	"snapshot-after-a-call":      deciding(policy{Resync: snapshotAfterCall}),
	"snapshot-not-awaited":       callingAgain(func(ask, again func()) { ask(); again() }),
	"returns-with-the-old-state": oldState,
	"repeats-the-lost-call":      callingAgain(func(ask, again func()) { again(); ask() }),
}

// noSnapshot skips the snapshot for one reason.
func noSnapshot(but agent.Occasion) fault {
	return deciding(policy{Resync: func(_ view, why agent.Occasion, right bool) bool { return right && why != but }})
}

// anew returns a state with another form and other tools.
func anew(s state, ui object, tools []proto.Tool) state {
	return state{Serial: s.Serial, UISpec: ui, Tools: tools, History: s.History}
}

// actsOnResult continues as soon as a result has a uiSpec, using it with the previous tools.
func actsOnResult(o *options) {
	var quick *state
	o.Policy.Settled = func(v view, settled bool) bool {
		if spec, ok := v.Result["uiSpec"].(object); ok {
			s := anew(v.Last, spec, v.Call.Before.Tools)
			quick = &s
			return true
		}
		return settled
	}
	o.Policy.State = func(_ view, last state) state {
		if quick == nil {
			return last
		}
		return *quick
	}
	o.Policy.Choose = func(_ view, _ state, c call) call {
		quick = nil
		return c
	}
}

// okAlone waits for a state only if the result has a uiSpec.
func okAlone(v view, settled bool) bool {
	_, quick := v.Result["uiSpec"]
	return !quick || settled
}

// choosingFrom substitutes other tools in a state that shows a form.
func choosingFrom(o *options, tools func(s state) []proto.Tool) {
	o.Policy.State = func(_ view, s state) state {
		if list := tools(s); s.UISpec != nil && len(list) > 0 {
			return anew(s, s.UISpec, list)
		}
		return s
	}
}

// firstTools reads toolSchema only once.
func firstTools(o *options) {
	var tools []proto.Tool
	choosingFrom(o, func(s state) []proto.Tool {
		if len(tools) == 0 {
			tools = s.Tools
		}
		return tools
	})
}

// toolsBefore uses the tools of the previous state.
func toolsBefore(o *options) {
	var before, now []proto.Tool
	serial := 0
	choosingFrom(o, func(s state) []proto.Tool {
		if s.Serial != serial {
			before, now, serial = now, s.Tools, s.Serial
		}
		return before
	})
}

// toolsLearnt uses the tools of all states, oldest first.
func toolsLearnt(o *options) {
	var all []proto.Tool
	choosingFrom(o, func(s state) []proto.Tool {
		for _, t := range s.Tools {
			if !slices.ContainsFunc(all, func(o proto.Tool) bool { return o.Name == t.Name }) {
				all = append(all, t)
			}
		}
		return all
	})
}

// snapshotTools reads toolSchema only in snapshots.
func snapshotTools(o *options) { toolsOfSnapshots(o, func() bool { return true }) }

// returnTools reads toolSchema, once it has come back, only in snapshots.
func returnTools(o *options) {
	dials := 0
	dialling(func(ctx context.Context, url string) (agent.Socket, error) {
		dials++
		return agent.DialWebSocket(ctx, url)
	})(o)
	toolsOfSnapshots(o, func() bool { return dials > 1 })
}

// toolsOfSnapshots uses, while something holds, the tools of the last snapshot, or else those before it held.
func toolsOfSnapshots(o *options, while func() bool) {
	var tools []proto.Tool
	taken, snapshot := 0, false
	o.Inbound = func(_ view, msg message) []message {
		snapshot = msg.Type() == proto.SnapshotState
		return []message{msg}
	}
	choosingFrom(o, func(s state) []proto.Tool {
		switch {
		case !while():
			tools = s.Tools
		case snapshot && s.Serial != taken:
			tools, taken = s.Tools, s.Serial
		}
		return tools
	})
}

// toolsKept keeps the last state with tools while none are announced.
func toolsKept(o *options) {
	var kept *state
	o.Policy.State = func(_ view, s state) state {
		if len(s.Tools) > 0 || s.UISpec == nil || kept == nil {
			kept = &s
		}
		return *kept
	}
}

// uiKept keeps the last form of a state or a result while a state shows none but announces tools.
func uiKept(o *options) {
	var kept object
	o.Policy.Settled = func(v view, settled bool) bool {
		if spec, ok := v.Result["uiSpec"].(object); ok {
			kept = spec
		}
		return settled
	}
	o.Policy.State = func(_ view, s state) state {
		switch {
		case s.UISpec != nil:
			kept = s.UISpec
		case kept != nil && len(s.Tools) > 0:
			return anew(s, kept, s.Tools)
		}
		return s
	}
}

// stateBeforeResultLost drops a state that arrives before the result, and does not wait for another one.
func stateBeforeResultLost(o *options) {
	came := false
	o.Policy.Settled = func(_ view, settled bool) bool {
		defer func() { came = false }()
		return came || settled
	}
	deafTo(func(v view, msg message) bool {
		lost := msg.Type() == proto.StateUpdated && v.Awaited != nil && v.Awaited.Type == proto.ToolCall
		came = came || lost
		return lost
	})(o)
}

// deafToStates ignores state.updated: it reads only the first snapshot and results.
var deafToStates = both(deciding(policy{Settled: func(view, bool) bool { return true }}),
	deafTo(func(_ view, msg message) bool { return msg.Type() == proto.StateUpdated }))

// goesOnAfterAWhile continues with the old state instead of asking for a snapshot.
func goesOnAfterAWhile(o *options) {
	enough := false
	o.Policy.Resync = func(_ view, why agent.Occasion, right bool) bool {
		enough = why == agent.NoUpdate
		return right && !enough
	}
	o.Policy.Settled = func(_ view, settled bool) bool {
		defer func() { enough = false }()
		return enough || settled
	}
}

// snapshotAfterCall asks for a snapshot only after the first call on a new connection, not before it.
func snapshotAfterCall(v view, why agent.Occasion, _ bool) bool {
	return why != agent.Reconnected && (why != agent.CallConfirmed || v.Connection > 1)
}

// callsWhenSpokenTo repeats a call that is under way when it replies to the user.
func callsWhenSpokenTo(v view, msg message, send sender) {
	send(msg)
	if msg.Type() == proto.AgentMessage && v.Awaited != nil && v.Awaited.Type == proto.ToolCall && v.Call != nil {
		again := object{"toolName": v.Call.Tool, "params": v.Call.Params, "reason": v.Call.Reason}
		send(wire.New(proto.ToolCall, again).With("id", msg.ID()+"-again"))
	}
}

// callingAgain repeats the last call before or after the first snapshot.get of a new connection.
func callingAgain(f func(ask, again func())) fault {
	return func(o *options) {
		var latest message
		connection := 1
		o.Outbound = func(v view, msg message, send sender) {
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
}

// oldState bases its first call on a new connection on the last state of the previous one.
func oldState(o *options) {
	var old state
	connection := 1
	o.Policy.State = func(v view, s state) state {
		if v.Connection == connection || old.UISpec == nil {
			connection, old = v.Connection, s
		}
		return old
	}
	o.Policy.Choose = func(v view, _ state, c call) call {
		connection = v.Connection
		return c
	}
}
