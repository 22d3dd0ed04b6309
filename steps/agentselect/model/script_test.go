package model

import (
	"strings"
	"testing"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// script reads a transcript from lines such as
//
//	A open
//	A > switch_agent {"agentId":"debugger"}
//	A < agent_switched {"currentAgentId":"debugger"}
//	A 200 {"success":true}
//	A ! DELETE /session/s-1
//	A closed
//	- hook add-agent
//	A - a remark on the connection
//
// where > is sent in a frame and < received, a status answers the request before it, and ! is sent over HTTP, with a
// body or without one. What is behind - is noted by the harness.
func script(t testing.TB, lines string) []transcript.Record {
	t.Helper()
	var out []transcript.Record
	for line := range strings.SplitSeq(lines, "\n") {
		words := append(strings.SplitN(strings.TrimSpace(line), " ", 4), "", "")
		if words[0] == "" {
			continue
		}
		r := transcript.Record{N: len(out) + 1, Conn: words[0], Dir: transcript.Received, Kind: transcript.Frame}
		body := words[3]
		if words[0] == "-" {
			words[1] = "-"
		}
		switch words[1] {
		case "-":
			r.Conn, r.Dir, r.Kind = strings.Trim(words[0], "-"), transcript.Noted, transcript.Remark
			_, r.Label, _ = strings.Cut(line, "- ")
		case "open":
			r.Dir, r.Kind = transcript.Sent, transcript.Open
		case "closed":
			r.Kind = transcript.Closed
		case "200", "404":
			r.Kind, r.Reply, r.Status, body = transcript.Response, len(out), int(words[1][0]-'0')*100, words[2]
		case "!":
			path, sent, _ := strings.Cut(words[3], " ")
			r.Dir, r.Kind, r.Label = transcript.Sent, transcript.Request, words[2]+" "+path
			for suffix, kind := range map[string]string{"/create": vocab.SessionCreateType, "/load": vocab.SessionLoadType,
				"/message": vocab.SwitchAgentType} {
				if v, _, err := wjson.Decode([]byte(sent)); words[2] == "POST" && strings.HasSuffix(path, suffix) {
					r.Event = &transcript.Event{Type: kind, Data: v}
					if sent != "" && err != nil {
						t.Fatalf("%q: %v", line, err)
					}
				}
			}
			body = sent
		default:
			if words[1] == ">" {
				r.Dir = transcript.Sent
			}
			r.Event = &transcript.Event{Type: words[2]}
			if body != "" {
				v, _, err := wjson.Decode([]byte(body))
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				r.Event.Data = v
			}
		}
		r.Bytes = []byte(body)
		out = append(out, r)
	}
	return out
}
