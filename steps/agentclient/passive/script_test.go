package passive

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// script reads a transcript from lines such as
//
//	open                       the page asks for its event stream: the next one
//	closed                     it ends
//	< agent_list {…}           an event
//	< junk about agents        one that cannot be decoded
//	> switch_agent {…}         a request
//	= 200 {…}                  the answer to the latest unanswered request; the decoder gets {} as the body
//	! failed                   that request fails
//
// B at the beginning of a line stands for the second page.
func script(t testing.TB, lines string) []transcript.Record {
	t.Helper()
	var out []transcript.Record
	streams, waiting := map[string]int{}, map[string][]int{}
	for line := range strings.SplitSeq(lines, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		page := "A"
		if rest, ok := strings.CutPrefix(line, "B "); ok {
			page, line = "B", rest
		}
		words := strings.SplitN(line+"  ", " ", 3)
		r := transcript.Record{N: len(out) + 1, Conn: page + api, Dir: transcript.Sent}
		body := strings.TrimSpace(words[2])
		switch words[0] {
		case "open", "closed", "<":
			if words[0] == "open" {
				streams[page]++
			}
			r.Conn += " " + strconv.Itoa(streams[page])
		}
		switch words[0] {
		case "open":
			r.Dir, r.Kind, r.Label = transcript.Received, transcript.Open, "/events"+words[1]
		case "closed":
			r.Kind = transcript.Closed
		case "<":
			r.Kind, r.Bytes = transcript.Stream, []byte(words[1]+" "+body)
			if words[1] != "junk" {
				r.Event = &transcript.Event{Type: words[1], Data: object(t, body)}
			}
		case ">":
			r.Dir, r.Kind, r.Bytes = transcript.Received, transcript.Request, []byte(body)
			r.Event = &transcript.Event{Type: words[1], Data: object(t, body)}
			waiting[page] = append(waiting[page], r.N)
		case "=", "!":
			last := len(waiting[page]) - 1
			r.Reply, waiting[page] = waiting[page][last], waiting[page][:last]
			if words[0] == "!" {
				r.Dir, r.Kind = transcript.Noted, transcript.Failure
				break
			}
			r.Kind = transcript.Response
			r.Status, _ = strconv.Atoi(words[1])
			r.Event = &transcript.Event{Type: "answer", Data: object(t, body)}
		default:
			t.Fatalf("%q is no line of a script", line)
		}
		out = append(out, r)
	}
	return out
}

func object(t testing.TB, text string) any {
	t.Helper()
	if text == "" {
		text = "{}"
	}
	v, _, err := wjson.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// list returns an agent_list of agents with these ids, whose names are in capitals, and with the first as the current
// one.
func list(ids ...string) string {
	return `< agent_list {"agents":` + agents(ids...) + `,"currentAgentId":"` + ids[0] + `"}` + "\n"
}

func agents(ids ...string) string {
	all := []map[string]string{}
	for _, id := range ids {
		all = append(all, map[string]string{"id": id, "name": strings.ToUpper(id) + " Agent"})
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// asks returns a switch, and create a request for a session with further members.
func asks(agent, session string) string {
	return `> switch_agent {"agentId":"` + agent + `","sessionId":"` + session + `"}` + "\n"
}

func create(more, id string) string {
	return "> session_create {" + more + "}\n" + `= 200 {"sessionId":"` + id + `","body":{"session":{"id":"` + id +
		`"}}}` + "\n"
}

func switched(from, to string) string {
	return `< agent_switched {"previousAgentId":"` + from + `","currentAgentId":"` + to + `","agentName":"x"}` + "\n"
}

func refused(code, more string) string { return `< error {"errorCode":"` + code + `"` + more + "}\n" }

func abort(session string) string { return `> abort {"sessionId":"` + session + `"}` + "\n" }
