package model

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// closing says who ends a stream.
var closing = map[string]transcript.Dir{"closed": transcript.Sent, "leaves": transcript.Received}

// script reads a transcript from lines such as
//
//	open                       the page asks for its event stream: the next one
//	closed                     it ends; leaves: the page ends it
//	< agent_list {…}           an event
//	< junk about agents        one that cannot be decoded
//	> switch_agent {…}         a request
//	= 200 {…}                  the answer to the latest unanswered request; the decoder gets {} as the body
//	! failed                   that request fails
//
// and of what is seen in a run
//
//	act connect                the user clicks a control; choose NAME: the option of an agent
//	! 3                        the act of record 3 was not possible
//	look *"A" "B" | text       the page has these options, of which the first is selected, and a text
//	dialog text                it shows a dialog
//	made switch_agent {…}      its browser tells of a request
//	- remark                   the harness remarks something
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
		case "open", "closed", "leaves", "<":
			if words[0] == "open" {
				streams[page]++
			}
			r.Conn += " " + strconv.Itoa(streams[page])
		}
		switch words[0] {
		case "act", "choose", "look", "dialog", "made", "-":
			seen(t, &r, page, words[0], strings.TrimSpace(line[len(words[0]):]))
		case "open":
			r.Dir, r.Kind, r.Label = transcript.Received, transcript.Open, "/events"+words[1]
		case "closed", "leaves":
			r.Kind, r.Dir = transcript.Closed, closing[words[0]]
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
			if act, err := strconv.Atoi(words[1]); err == nil && words[0] == "!" {
				r.Conn, r.Dir, r.Kind, r.Reply = page, transcript.Received, transcript.Failure, act
				break
			}
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

// seen fills a record of what is seen in a run.
func seen(t testing.TB, r *transcript.Record, page, what, of string) {
	t.Helper()
	r.Conn, r.Dir = page, transcript.Received
	switch what {
	case "act", "choose":
		r.Dir, r.Kind, r.Label = transcript.Sent, transcript.Act, what+" "+of
		if r.Bytes = []byte(`{"do":"click","on":"` + of + `"}`); what == "choose" {
			r.Bytes = []byte(`{"do":"choose","on":"select","value":"` + of + `"}`)
		}
	case "look":
		l := &snapshot.Page{}
		options, text, _ := strings.Cut(of, "|")
		l.Text = text
		for i, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(options, -1) {
			l.Select.Options = append(l.Select.Options, snapshot.Option{Value: m[1], Text: m[1], Selected: i == 0})
		}
		r.Kind, r.Event = transcript.Snapshot, &transcript.Event{Type: "look", Data: l}
	case "dialog":
		r.Kind, r.Type, r.Bytes = transcript.Dialog, "alert", []byte(of)
		if kind, text, ok := strings.Cut(of, ": "); ok && kind == "confirm" {
			r.Type, r.Bytes = kind, []byte(text)
		}
	case "made":
		kind, data, _ := strings.Cut(of, " ")
		r.Kind, r.Event = transcript.Ask, &transcript.Event{Type: kind, Data: object(t, data)}
	case "-":
		r.Conn, r.Dir, r.Kind, r.Label = "", transcript.Noted, transcript.Remark, of
	}
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
