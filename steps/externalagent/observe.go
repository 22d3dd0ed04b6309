package externalagent

import (
	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// Observed implements steps.Witness. Tests of hosts and agents have only the connections of agents; a test of a
// relay also has those of hosts, one at a time, named host: if a second host connects at the same time, the records
// end, because their sessions cannot be distinguished.
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
			as = vocab.AgentRole // an agent that joins with a wrong role is still judged
		}
		joined[r.Conn] = as
	}
	var out []transcript.Record
	host := "" // the connection of the present host
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
			continue // it has sent nothing
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
