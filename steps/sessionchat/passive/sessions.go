package passive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
)

// prompt is the longest pause before a chat after which no server can have unloaded the session: "long inactivity" is
// longer.
const prompt = 100 * time.Millisecond

// known is the session_id of an agent_id on a connection.
type known struct {
	id    string
	at    time.Duration // of the latest message of the session, sent or received
	fresh bool          // it may have been unloaded since the latest message of the server
}

// ids judges the session_ids of each connection's sessions: each is assigned to one agent_id, and does not change.
func ids(v *traffic) {
	agentsForIDs(v)
	idsOfClients(v)
	all := map[key]*known{}
	owner := map[key]string{} // connection and session_id → agent_id
	v.each(func(b *table, r transcript.Record) {
		if r.Kind == transcript.Open || r.Kind == transcript.Closed {
			clear(all) // a restarted server may generate the same ids again
			clear(owner)
			return
		}
		agent := text(r, vocab.AgentID)
		k := key{r.Conn, agent}
		was := all[k]
		if sent(r) {
			if was != nil && agent != "" {
				was.fresh = was.fresh || r.At-was.at > prompt
				was.at = r.At
			}
			return
		}
		s := b.mine(r)
		if s == nil || !ofTurn[r.Event.Type] {
			return
		}
		id := text(r, vocab.SessionID)
		if id != "" && id != agent { // a client may use a session_id as an agent_id
			v.owned(r, owner, agent, id)
		}
		if was == nil {
			if id != "" {
				all[k] = &known{id: id, at: r.At}
			}
			return
		}
		v.stays(r, was, s, id)
		was.at = r.At
		if id != "" {
			was.id, was.fresh = id, false
		}
	})
}

// agentsForIDs finds messages that carry an agent_id of their client as the session_id. If the server has sent it as a
// session_id before, the client may have adopted it.
func agentsForIDs(v *traffic) {
	used, told := map[key]bool{}, map[string]bool{}
	v.each(func(b *table, r transcript.Record) {
		agent, id := text(r, vocab.AgentID), text(r, vocab.SessionID)
		switch {
		case sent(r) && agent != "" && !told[agent] && b.opened[r.Conn]:
			used[key{r.Conn, agent}] = true
		case received(r) && id != "" && used[key{r.Conn, id}]:
			v.broken(r, "a session_id that the backend has assigned, and not an agent_id of the client", "SC-042")
		case received(r) && id != "":
			told[id] = true
		}
	})
}

// owned judges that a session_id belongs to one agent_id of a connection.
func (v *traffic) owned(r transcript.Record, owner map[key]string, agent, id string) {
	k := key{r.Conn, id}
	was, taken := owner[k]
	if !taken {
		owner[k] = agent
	}
	if taken && was != agent {
		v.broken(r, fmt.Sprintf("a session_id for agent_id %q that is not that of %q", agent, was), "SC-009", "SC-027")
		return
	}
	for other, by := range owner {
		if other.conn == r.Conn && by != agent {
			v.kept(r, "SC-009", "SC-027")
			return
		}
	}
}

// stays judges a session_id against the previous one.
func (v *traffic) stays(r transcript.Record, was *known, s *session, id string) {
	clauses := []string{"SC-042", "SC-056"}
	if s.ended != nil {
		clauses = append(clauses, "SC-006", "SC-050")
	}
	if s.ended != nil && s.seenOther {
		clauses = append(clauses, "SC-028")
	}
	switch {
	case id == was.id:
		v.kept(r, clauses...)
	case was.fresh: // it may have been resumed
	case id == "":
		v.broken(r, fmt.Sprintf("session_id %q, which is known", was.id), "SC-056")
	default:
		v.broken(r, fmt.Sprintf("session_id %q, as before", was.id),
			slices.DeleteFunc(clauses, func(c string) bool { return c == "SC-056" })...)
	}
}

// answered judges the answer to a legal chat.
func answered(v *traffic) {
	v.each(func(b *table, r transcript.Record) {
		if !received(r) {
			return
		}
		s := b.mine(r)
		switch {
		case s != nil && len(s.chats) > 0 && !s.overlaps && denies(r) && !s.begun:
			v.broken(r, fmt.Sprintf("the chat of record %d is accepted", s.chats[0].N), accepting(s.chats[0])...)
		case s != nil && len(s.chats) > 0 && ofTurn[r.Event.Type]:
			v.kept(r, "SC-005", "SC-021", "SC-041", "SC-060")
			if r.Event.Type == vocab.ResultMessage && text(r, vocab.Subtype) == vocab.Success && !s.overlaps {
				v.kept(r, accepting(s.chats[0])...)
			}
		case s == nil && ofTurn[r.Event.Type]:
			v.distorted(b, r)
		}
	})
}

// accepting names the clauses that require a chat to be accepted.
func accepting(chat transcript.Record) []string {
	options, has := member(chat, vocab.Options).(map[string]any)
	if !has {
		return []string{"SC-013"}
	}
	out := []string{"SC-032", "SC-032a"}
	for name := range options {
		if name == "model" {
			out = append(out, "SC-033")
		} else if !slices.Contains(out, "SC-034") {
			out = append(out, "SC-034")
		}
	}
	return out
}

// distorted judges a message under an agent_id that no client has sent. It belongs to a client that was not observed,
// unless it belongs to a chat of the connection: it has the session_id of that chat's session, or an agent_id that
// equals the chat's, apart from case and white space, or it ends a whole turn that began after the chat. In the last
// two cases the chat must be the only open one of the connection, without a message so far.
func (v *traffic) distorted(b *table, r transcript.Record) {
	agent := text(r, vocab.AgentID)
	if agent == "" || b.strangers[agent] == 0 {
		return
	}
	if own := b.ownerOf(r); own != "" {
		v.broken(r, fmt.Sprintf("agent_id %q, whose session_id it has", own), "SC-021", "SC-041")
		return
	}
	waiting := b.waiting(r.Conn)
	if len(waiting) != 1 {
		return
	}
	meant := text(waiting[0], vocab.AgentID)
	whole := r.Event.Type == vocab.ResultMessage && b.opened[r.Conn] && !b.unknown[r.Conn] && len(b.byConn) == 1 &&
		b.strangers[agent] > waiting[0].N && b.strangers[agent] < r.N && !v.told(meant, waiting[0].N)
	if plain(meant) == plain(agent) || whole {
		v.broken(r, fmt.Sprintf("agent_id %q, as in record %d", meant, waiting[0].N), "SC-005", "SC-021", "SC-041", "SC-060")
	}
}

// ownerOf returns the agent_id of the connection's session that has the session_id of r; "" if there is none.
func (b *table) ownerOf(r transcript.Record) string {
	id := text(r, vocab.SessionID)
	for _, agent := range b.byConn[r.Conn] {
		if s := b.sessions[key{r.Conn, agent}]; s != nil && id != "" && s.id == id && len(b.shared[agent]) == 1 {
			return agent
		}
	}
	return ""
}

// waiting returns a connection's open chats if none of them has had a message; nil otherwise.
func (b *table) waiting(conn string) (chats []transcript.Record) {
	for _, agent := range b.byConn[conn] {
		s := b.sessions[key{conn, agent}]
		if s == nil || len(s.chats) == 0 {
			continue
		}
		if s.begun || s.cut {
			return nil
		}
		chats = append(chats, s.chats...)
	}
	return chats
}

// told reports whether the server mentions an agent_id after a record.
func (v *traffic) told(agent string, after int) bool {
	return slices.ContainsFunc(v.records, func(r transcript.Record) bool {
		return r.N > after && received(r) && text(r, vocab.AgentID) == agent
	})
}

func plain(agent string) string { return strings.ToLower(strings.Join(strings.Fields(agent), "")) }

// switches judges that several sessions of a connection are answered, each under its own agent_id.
func switches(v *traffic) {
	done := map[string]map[string]bool{} // agent_ids that were answered on a connection
	v.each(func(b *table, r transcript.Record) {
		if r.Kind == transcript.Open {
			delete(done, r.Conn)
		}
		if r.Kind == transcript.Closed || !received(r) {
			return
		}
		s, agent := b.mine(r), text(r, vocab.AgentID)
		switch {
		case s == nil:
		case denies(r) && len(s.chats) == 1 && !s.begun && !done[r.Conn][agent] && len(done[r.Conn]) > 0:
			v.broken(r, fmt.Sprintf("the chat of record %d is answered, as those of another agent_id were", s.chats[0].N),
				"SC-004", "SC-025", "SC-026", "SC-052", "SC-057")
		case r.Event.Type == vocab.ResultMessage && len(s.chats) == 0 && s.ended != nil && s.since && !s.cut:
			v.swapped(b, r)
		case r.Event.Type == vocab.ResultMessage && len(s.chats) > 0:
			if done[r.Conn] == nil {
				done[r.Conn] = map[string]bool{}
			}
			done[r.Conn][agent] = true
			if len(done[r.Conn]) > 1 {
				v.kept(r, "SC-004", "SC-024", "SC-025", "SC-026", "SC-052", "SC-057")
			}
		}
	})
}

// swapped judges a whole turn without a chat of its agent_id, while the only open chat of the connection has another
// agent_id and gets no message, neither before nor later.
func (v *traffic) swapped(b *table, r transcript.Record) {
	var waiting []transcript.Record
	for _, a := range b.byConn[r.Conn] {
		if s := b.sessions[key{r.Conn, a}]; s != nil && len(s.chats) > 0 && !s.begun && !s.cut {
			waiting = append(waiting, s.chats...)
		}
	}
	if len(waiting) != 1 || b.unknown[r.Conn] {
		return
	}
	agent := text(waiting[0], vocab.AgentID)
	if v.told(agent, waiting[0].N) {
		return
	}
	v.broken(r, fmt.Sprintf("the chat of record %d is answered under agent_id %q", waiting[0].N, agent),
		"SC-004", "SC-024", "SC-052", "SC-057")
}
