package sessionruntime

import (
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
	own map[string]bool // sessions set up in this scenario
}

// note examines a record. It must be called for all records in order.
func (a *otherSessions) note(r *transcript.Record) {
	if r.Event == nil || r.Late || a.env.Driver == nil || a.env.Driver.Name() != target.WS {
		return
	}
	data, _ := r.Event.Data.(map[string]any)
	id, _ := data[judge.Session].(string)
	if r.Dir == transcript.Sent && r.Event.Type == judge.SetupFrame {
		a.own[id] = true
		a.env.Learnt.Store(setUpBy{id}, true)
		return
	}
	if r.Dir != transcript.Received || id == "" || a.own[id] {
		return
	}
	if _, other := a.env.Learnt.Load(setUpBy{id}); other {
		a.env.CameAstray(r.Event.Type, steps.Seen(*r))
	}
}
