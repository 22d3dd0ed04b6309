package sessionruntime

import (
	"slices"

	"parley/steps"
	judge "parley/steps/sessionruntime/model"
	"parley/target"
	"parley/transport/transcript"
)

// setUpBy is the key, in Env.Learnt, of a session that some connection has set up.
type setUpBy struct{ id string }

// otherSessions finds messages of sessions that other connections have set up. The source has one bus, and does not
// say how many connections share it, so such messages break no clause, although every reader of the bus gets them.
// Over stdio one process serves several scenarios in turn, and may finish what an earlier one has started.
type otherSessions struct {
	env *steps.Env
	own map[string]bool // sessions set up in this scenario, the latest ones
	set []string        // the same, the oldest first
}

// maxOwn bounds the known sessions: more than a scenario has. Traffic that lasts for hours has any number.
const maxOwn = 1024

// setUp notes that a session was set up in this scenario.
func (a *otherSessions) setUp(id string) {
	if !a.own[id] {
		a.own[id], a.set = true, append(a.set, id)
		a.env.Learnt.Store(setUpBy{id}, true)
	}
	if len(a.set) > maxOwn {
		delete(a.own, a.set[0])
		a.env.Learnt.Delete(setUpBy{a.set[0]})
		a.set = slices.Delete(a.set, 0, 1)
	}
}

// note examines a record. It must be called for all records in order.
func (a *otherSessions) note(r *transcript.Record) {
	if r.Event == nil || r.Late || a.env.Driver == nil || a.env.Driver.Name() != target.WS {
		return
	}
	data, _ := r.Event.Data.(map[string]any)
	id, _ := data[judge.Session].(string)
	if r.Dir == transcript.Sent && r.Event.Type == judge.SetupFrame {
		a.setUp(id)
		return
	}
	if r.Dir != transcript.Received || id == "" || a.own[id] {
		return
	}
	if _, other := a.env.Learnt.Load(setUpBy{id}); other {
		a.env.CameAstray(r.Event.Type, steps.Seen(*r))
	}
}
