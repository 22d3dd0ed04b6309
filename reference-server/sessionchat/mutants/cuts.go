package mutants

import (
	"slices"

	proto "parley/protocol/sessionchat"
)

// cutFaults show only if a connection ends at a certain point of a conversation, and the client then reconnects.
var cutFaults = map[string]fault{
	"end-after-a-ping-forgets":       endingAfter(proto.PingType),
	"end-after-an-interrupt-forgets": endingAfter(proto.InterruptType),
	"end-in-a-third-turn-forgets":    endInFirstTurnForgets,
	"end-after-the-second-forgets":   endAfterSecondForgets,
}

// endingAfter forgets the sessions of a connection that ends when its last message was of that type.
func endingAfter(kind string) fault {
	return func(o *options) {
		lost, ids, last := losing(o), used{}, map[string]any{}
		o.Inbound = noting(func(_ manager, from connInfo, msg message) {
			ids.note(from, msg)
			last[from.ID] = msg["type"]
		})
		o.Policy.OnDisconnect = func(_ manager, c connInfo) bool {
			if last[c.ID] == kind {
				lost.lose(unique(ids[c.ID])...)
			}
			return true
		}
	}
}

// endInFirstTurnForgets forgets the other sessions of a connection that ends during the first turn of a session, if two
// turns or more came before.
func endInFirstTurnForgets(o *options) {
	lost, ids := losing(o), noted(o)
	o.Policy.OnDisconnect = func(m manager, c connInfo) bool {
		all := ids[c.ID]
		last := ids.last(c.ID)
		if last != "" && count(all, last) == 1 && len(all) > 2 && m.Running(o.Policy.Key(c, last, "")) {
			lost.lose(slices.DeleteFunc(unique(all), func(id string) bool { return id == last })...)
		}
		return true
	}
}

// endAfterSecondForgets forgets the first session of a connection that was last used for another session when it ends.
func endAfterSecondForgets(o *options) {
	lost, ids := losing(o), noted(o)
	o.Policy.OnDisconnect = func(m manager, c connInfo) bool {
		all, last := ids[c.ID], ids.last(c.ID)
		if last != "" && all[0] != last && count(all, last) > 1 {
			lost.lose(all[0])
		}
		return true
	}
}

// count returns how often an id occurs.
func count(ids []string, id string) (n int) {
	for _, one := range ids {
		if one == id {
			n++
		}
	}
	return n
}

// unique returns the ids without repetition, sorted.
func unique(ids []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}
