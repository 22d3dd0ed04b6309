package passive

import (
	"fmt"

	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
)

// crossing finds what belongs to a client and comes to another one. A message may be about a session of a client that
// was not observed, but is out of place if only another connection, which is still open, has mentioned its agent_id.
func crossing(v *traffic) {
	found := map[key]bool{}
	v.each(func(b *table, r transcript.Record) {
		if !received(r) || !ofTurn[r.Event.Type] || !b.opened[r.Conn] || b.unknown[r.Conn] {
			return
		}
		k := key{r.Conn, text(r, vocab.AgentID)}
		if of := b.onlyOf(r); of != "" && !found[k] {
			found[k] = true
			v.broken(r, fmt.Sprintf("no message of the session of agent_id %q, for which only connection %s has chatted",
				k.agent, of), "SC-001")
		}
		if s := b.mine(r); s != nil && s.chats != nil && b.others(r.Conn) {
			v.kept(r, "SC-001")
		}
	})
}

// onlyOf returns the open connection, other than that of r, that alone has mentioned the agent_id of r; "" if there is
// none.
func (b *table) onlyOf(r transcript.Record) string {
	for conn := range b.shared[text(r, vocab.AgentID)] {
		if len(b.shared[text(r, vocab.AgentID)]) == 1 && conn != r.Conn && b.opened[conn] && !b.closed[conn] {
			return conn
		}
	}
	return ""
}

// others reports whether another connection with a session is open.
func (b *table) others(conn string) bool {
	for other := range b.byConn {
		if other != conn && b.opened[other] {
			return true
		}
	}
	return false
}

// holder is the latest message of a session that has a session_id.
type holder struct {
	n     int // its record
	agent string
}

// holders are the sessions of the open connections by their session_id.
type holders struct {
	byID map[string]map[string]holder // session_id → connection
	ids  map[string][]string          // connection → session_ids
}

// idsOfClients judges that the sessions of different connections have different session_ids. A server may number its
// sessions, and begin anew when it restarts; so the connection that had the id first must show that it has outlived the
// beginning of the other one.
func idsOfClients(v *traffic) {
	opened := map[string]int{} // connection → record
	heard := map[string]int{}  // connection → the latest record received
	all := holders{map[string]map[string]holder{}, map[string][]string{}}
	waiting := map[string]func(){} // by the connection that has not shown it yet
	v.each(func(b *table, r transcript.Record) {
		if r.Kind == transcript.Open || r.Kind == transcript.Closed {
			opened[r.Conn], heard[r.Conn] = r.N, 0
			delete(waiting, r.Conn)
			all.forget(r.Conn)
		}
		if !received(r) {
			return
		}
		heard[r.Conn] = r.N
		if judge := waiting[r.Conn]; judge != nil {
			judge()
			delete(waiting, r.Conn)
		}
		id, agent := text(r, vocab.SessionID), text(r, vocab.AgentID)
		if id == "" || id == agent || !b.opened[r.Conn] || b.mine(r) == nil {
			return
		}
		for conn, h := range all.byID[id] {
			if conn == r.Conn || h.agent == agent || h.agent == id || len(b.shared[h.agent]) > 1 {
				continue
			}
			judge := func() {
				v.broken(r, fmt.Sprintf("a session_id that is not that of agent_id %q of connection %s, record %d", h.agent,
					conn, h.n), "SC-009", "SC-027")
			}
			if heard[conn] > opened[r.Conn] {
				judge()
			} else if waiting[conn] == nil {
				waiting[conn] = judge
			}
		}
		all.note(id, r.Conn, holder{r.N, agent})
	})
}

func (a holders) note(id, conn string, h holder) {
	if a.byID[id] == nil {
		a.byID[id] = map[string]holder{}
	}
	if _, known := a.byID[id][conn]; !known {
		a.ids[conn] = append(a.ids[conn], id)
	}
	a.byID[id][conn] = h
}

func (a holders) forget(conn string) {
	for _, id := range a.ids[conn] {
		if delete(a.byID[id], conn); len(a.byID[id]) == 0 {
			delete(a.byID, id)
		}
	}
	delete(a.ids, conn)
}
