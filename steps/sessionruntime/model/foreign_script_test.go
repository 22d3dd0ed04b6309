package model_test

import (
	"strings"
	"testing"
	"time"

	judge "parley/steps/sessionruntime/model"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// script reads a transcript from lines such as
//
//	set agent-a,agent-b agent-a
//	> frontend USER_INPUT {"payload":"Hi"}
//	< USER_INPUT AGENT {"target_id":"agent-a","turn_id":"t1","trace_id":"tr1","payload":"Hi"}
//	< CONTROL/SWITCH_AGENT SYSTEM {…}
//	fence
//	+ 31s
//	B open
//
// where > is delivered to the orchestrator on SYSTEM, unless its members name another target, and < is published by it
// to a target. set makes the session "main" with the given agents and active agent. A line that begins with a capital
// letter and a blank goes over the connection of that name instead of "bus".
func script(t testing.TB, lines string) []transcript.Record {
	t.Helper()
	p := &parser{t: t}
	for line := range strings.SplitSeq(lines, "\n") {
		if words := strings.SplitN(strings.TrimSpace(line), " ", 4); words[0] != "" {
			p.line(line, words)
		}
	}
	return p.out
}

type parser struct {
	t   testing.TB
	out []transcript.Record
	now time.Duration
	on  string
}

func (p *parser) add(dir transcript.Dir, kind transcript.Kind, ev *transcript.Event) {
	p.out = append(p.out, transcript.Record{N: len(p.out) + 1, At: p.now, Conn: p.on, Dir: dir, Kind: kind, Event: ev})
}

func (p *parser) frame(dir transcript.Dir, name string, data map[string]any) {
	p.add(dir, transcript.Frame, &transcript.Event{Type: name, Data: data})
}

func (p *parser) line(line string, words []string) {
	p.t.Helper()
	p.on = "bus"
	if c := words[0]; len(c) == 1 && c[0] >= 'A' && c[0] <= 'Z' {
		p.on, words = c, strings.SplitN(line, " ", 5)[1:]
	}
	switch words[0] {
	case "+":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			p.t.Fatal(err)
		}
		p.now += d
	case "set":
		var agents []any
		for a := range strings.SplitSeq(words[1], ",") {
			agents = append(agents, a)
		}
		p.frame(transcript.Sent, judge.SetupFrame, map[string]any{judge.Session: "main", "agents": agents,
			"active_agent_id": words[2], "limits": map[string]any{"cancel_ack_ms": 600_000}})
		p.frame(transcript.Received, judge.ReadyFrame, map[string]any{judge.Session: "main"})
	case "fence":
		p.frame(transcript.Sent, judge.FenceFrame, map[string]any{judge.ID: "f"})
		p.frame(transcript.Received, judge.FencedFrame, map[string]any{judge.ID: "f"})
	case "open":
		p.add(transcript.Received, transcript.Open, nil)
	case "closed":
		p.add(transcript.Received, transcript.Closed, nil)
	case "junk":
		p.add(transcript.Received, transcript.Frame, nil)
	case ">":
		data := p.message(line, words[2], words[3:])
		data[judge.From] = words[1]
		if data[judge.Target] == nil {
			data[judge.Target] = "SYSTEM"
		}
		p.frame(transcript.Sent, words[2], data)
	case "<":
		data := p.message(line, words[1], words[3:])
		data[judge.Target] = words[2]
		p.frame(transcript.Received, words[1], data)
	default:
		p.t.Fatalf("%q is no line of a script", line)
	}
}

// message returns the members of a message: the given ones, its name, and otherwise those of its
// payload.
func (p *parser) message(line, name string, rest []string) map[string]any {
	p.t.Helper()
	data := map[string]any{}
	if len(rest) > 0 {
		v, _, err := wjson.Decode([]byte(rest[0]))
		object, ok := v.(map[string]any)
		if err != nil || !ok {
			p.t.Fatalf("%q: %v", line, err)
		}
		data = object
	}
	event, subtype, _ := strings.Cut(name, "/")
	data[judge.EventName], data[judge.Session] = event, "main"
	if subtype != "" {
		data[judge.Subtype] = subtype
	}
	if turn, ok := data[judge.Turn].(string); ok && data[judge.Trace] == nil {
		data[judge.Trace] = "trace of " + turn
	}
	payload, _ := data[judge.Payload].(map[string]any)
	for _, member := range []string{judge.AgentID, judge.TargetAgent, judge.SwitchFrom, judge.SwitchTo, judge.Reason,
		judge.Trigger} {
		if v, there := payload[member]; there && data[member] == nil {
			data[member] = v
		}
	}
	return data
}
