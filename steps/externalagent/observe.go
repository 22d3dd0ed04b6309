package externalagent

import (
	vocab "parley/protocol/externalagent"
	"parley/transcript"
)

// Observed implements steps.Witness. Testers of hosts and agents meet the connections of agents only; a tester of a
// relay meets those of hosts too, one at a time, which is called host: with a second one at the same time the records
// end, since their sessions cannot be told apart.
func (Protocol) Observed(role string, records []transcript.Record) []transcript.Record {
	joined := map[string]string{} // connection → role
	for i := range records {
		r := &records[i]
		if kindOf(r) != vocab.RelayJoin || joined[r.Conn] != "" {
			continue
		}
		p, _ := r.Event.Data.(object)
		as, _ := p["role"].(string)
		if as != vocab.HostRole && as != vocab.FrontendRole {
			as = vocab.AgentRole // an agent that joins wrongly is still judged
		}
		joined[r.Conn] = as
	}
	var out []transcript.Record
	host := "" // the connection of the host that is there
	for _, r := range records {
		as := joined[r.Conn]
		switch {
		case role != vocab.Relay || as != vocab.HostRole && as != vocab.FrontendRole:
		case r.Kind == transcript.Closed && r.Conn == host:
			host = ""
		case host != "" && host != r.Conn && r.Kind != transcript.Closed:
			return out
		case r.Kind == transcript.Frame:
			host = r.Conn
		}
		switch {
		case as == vocab.HostRole || as == vocab.FrontendRole:
			if role != vocab.Relay {
				continue
			}
			r.Conn = "host"
		case as == "" && r.Conn != "" && role == vocab.Agent && joinsLater(records, r.Conn):
			continue // it has said nothing
		}
		out = append(out, r)
	}
	return out
}

// joinsLater reports whether a connection has not sent any message.
func joinsLater(records []transcript.Record, conn string) bool {
	for i := range records {
		if r := &records[i]; r.Conn == conn && r.Kind == transcript.Frame && r.Dir == transcript.Received {
			return false
		}
	}
	return true
}
