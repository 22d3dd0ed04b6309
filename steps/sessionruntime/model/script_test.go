package model

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// script reads a transcript from lines such as
//
//	set main a,b,c a 60ms
//	> user USER_INPUT #1
//	< USER_INPUT @a t1 #1
//	< TURN_ACCEPTED t1 of=a
//	> a INPUT_ACK t1
//	> a AGENT_OUTPUT t1 #2 chunk
//	< SWITCH_AGENT a>b on=BROADCAST
//	fence
//	+ 50ms
//
// where > is delivered by the named party, and < published. set makes a session with the given agents and active
// agent (- is none), and requests one limit for both acknowledgements, or one for each (60ms/1m). Agents are named by
// a letter: a stands for agent-a. fence is a fence and its answer; ask and fenced are its two halves, quiet replaces
// both. past is the remark that a limit has expired, and vain the one that a scenario has waited in vain for a kind of
// message. + lets time pass, in= names a session other than the one set up last, and everything else is a member: @ the
// addressed agent, # the mark of its payload, t its turn_id, which determines its trace_id, x its tx_id, {} a payload
// that replaces the usual one, and - before a name removes a member. A prompt names agent-a as the one that asks.
func script(t testing.TB, lines string) []transcript.Record {
	t.Helper()
	p := &parser{t: t}
	for line := range strings.SplitSeq(lines, "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			p.line(line, words)
		}
	}
	return p.out
}

type parser struct {
	t       testing.TB
	out     []transcript.Record
	now     time.Duration
	session string
	fences  int
}

func (p *parser) add(dir transcript.Dir, kind transcript.Kind, label string, ev *transcript.Event) {
	p.out = append(p.out,
		transcript.Record{N: len(p.out) + 1, At: p.now, Conn: "bus", Dir: dir, Kind: kind, Label: label, Event: ev})
}

func (p *parser) line(line string, words []string) {
	p.t.Helper()
	half := func(dir transcript.Dir, frame, id string) {
		p.add(dir, transcript.Frame, frame, &transcript.Event{Type: frame, Data: map[string]any{ID: id}})
	}
	switch words[0] {
	case "+":
		p.now += p.duration(words[1])
	case "set":
		p.setUp(words[1:])
	case "fence":
		p.fences++
		id := strings.Repeat("f", p.fences)
		half(transcript.Sent, FenceFrame, id)
		half(transcript.Received, FencedFrame, id)
	case "ask":
		half(transcript.Sent, FenceFrame, words[1])
	case "fenced":
		half(transcript.Received, FencedFrame, words[1])
	case "quiet":
		p.add(transcript.Noted, transcript.Remark, Quiet+words[1], nil)
	case "past":
		p.add(transcript.Noted, transcript.Remark, Past(strings.Join(words[1:], " "), len(p.out)), nil)
	case "vain":
		d := Duty{Kinds: []Kind{Kind(strings.Join(words[1:], " "))}, Of: 1}
		p.add(transcript.Noted, transcript.Remark, InVain(d, "within 5s"), nil)
	case ">":
		p.message(line, words[1], words[2], words[3:])
	case "<":
		p.message(line, "", words[1], words[2:])
	default:
		p.t.Fatalf("%q is no line of a script", line)
	}
}

func (p *parser) duration(word string) time.Duration {
	p.t.Helper()
	d, err := time.ParseDuration(word)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// setUp adds the set-up frame: session, agents, active agent, limits.
func (p *parser) setUp(words []string) {
	p.session = words[0]
	agents := []any{}
	for _, a := range strings.Split(words[1], ",") {
		if a != "-" {
			agents = append(agents, agent(a))
		}
	}
	data := map[string]any{Session: words[0], "agents": agents, "active_agent_id": any(agent(words[2]))}
	if words[2] == "-" {
		data["active_agent_id"] = nil
	}
	if len(words) > 3 {
		input, cancel, two := strings.Cut(words[3], "/")
		if !two {
			cancel = input
		}
		data["limits"] = map[string]any{"input_ack_ms": p.duration(input).Milliseconds(),
			"cancel_ack_ms": p.duration(cancel).Milliseconds()}
	}
	p.add(transcript.Sent, transcript.Frame, SetupFrame, &transcript.Event{Type: SetupFrame, Data: data})
	p.add(transcript.Received, transcript.Frame, ReadyFrame, &transcript.Event{Type: ReadyFrame, Data: map[string]any{}})
}

var people = map[string]string{"user": Frontend, "manager": Manager, "logger": Logger, "self": Self}

// shapes are the event and usual target of everything the orchestrator publishes, except CONTROLs to SYSTEM.
var shapes = map[string][2]string{
	vocab.UserInput: {vocab.UserInput, vocab.ToAgent}, vocab.AgentOutput: {vocab.AgentOutput, vocab.ToFrontend},
	vocab.Error:  {vocab.Error, vocab.ToFrontend},
	vocab.Cancel: {vocab.Control, vocab.ToAgent}, vocab.Interrupt: {vocab.Control, vocab.ToAgent},
	vocab.HandoverContext:  {vocab.Control, vocab.ToAgent},
	vocab.HandoverUIPrompt: {vocab.Control, vocab.ToFrontend}, vocab.RouteTimeout: {vocab.Error, vocab.ToFrontend},
	vocab.RemoveAgentFailed: {vocab.Error, vocab.ToFrontend},
	vocab.AddFailed:         {vocab.Error, vocab.ToFrontend}, vocab.AgentNotFound: {vocab.Error, vocab.ToFrontend},
	vocab.CancelTimeout: {vocab.Error, vocab.ToFrontend},
	vocab.TurnAccepted:  {vocab.Event, vocab.ToFrontend}, vocab.Canceled: {vocab.Event, vocab.ToFrontend},
	vocab.AgentAdded:   {vocab.Event, vocab.ToFrontend},
	vocab.AgentRemoved: {vocab.Event, vocab.ToFrontend}, vocab.SessionOpened: {vocab.Event, vocab.ToFrontend},
	vocab.SessionClosed: {vocab.Event, vocab.ToFrontend},
	vocab.SessionFailed: {vocab.Event, vocab.ToFrontend}, vocab.AgentStarted: {vocab.Event, vocab.ToFrontend},
	vocab.NobodySpeaks: {vocab.Event, vocab.ToFrontend},
	vocab.CancelSent:   {vocab.Event, vocab.ToFrontend}, vocab.AddingAgent: {vocab.Event, vocab.ToFrontend},
	vocab.AgentRemoving: {vocab.Event, vocab.ToFrontend},
	vocab.ActiveChanged: {vocab.Event, vocab.ToFrontend}, vocab.StreamStopped: {vocab.Event, vocab.ToFrontend},
}

var (
	turnWord   = regexp.MustCompile(`\At\d+\z`)
	txWord     = regexp.MustCompile(`\Ax\d+\z`)
	markWord   = regexp.MustCompile(`\A#\d+\z`)
	switchWord = regexp.MustCompile(`\A[a-z]*>[a-z]*\z`)
	anyMark    = regexp.MustCompile(`#\d+`)
)

// agent returns the id of an agent that a script names by a letter.
func agent(letter string) string {
	if len(letter) == 1 && letter != "-" {
		return "agent-" + letter
	}
	return letter
}

// message adds one frame, as the binding decodes it.
func (p *parser) message(line, by, name string, words []string) {
	p.t.Helper()
	data := map[string]any{Session: p.session, EventName: vocab.Control, Target: vocab.ToSystem,
		Metadata: map[string]any{"visibility": "both"}}
	shape, known := shapes[name]
	switch {
	case by != "" &&
		(name == vocab.UserInput || name == vocab.AgentOutput || name == vocab.Error || name == vocab.StreamStopped):
		data[EventName] = shape[0]
	case by == "" && known:
		data[EventName], data[Target] = shape[0], shape[1]
	}
	if data[EventName] != name {
		data[Subtype] = name
	}
	if by == "" {
		data[From], data[Sender] = Self, Self
	} else {
		data[From] = agent(by)
		if party, ok := people[by]; ok {
			data[From] = party
		}
		data[ID] = "m" + strings.Repeat("i", len(p.out))
	}
	payload := map[string]any{}
	switch name {
	case vocab.RequestRemoveAgent:
		data[Reason] = "the user wants it"
	case vocab.HandoverUIPrompt:
		payload["from_agent"] = agent("a")
	}
	label := ""
	for _, w := range words {
		if w == "back" {
			label = Back + name
			continue
		}
		p.member(line, name, w, data, payload)
	}
	if _, own := data[Payload]; !own {
		data[Payload] = payload
		if say, ok := payload["text"].(string); ok && name == vocab.UserInput {
			data[Payload] = say
		}
	}
	if turn, ok := data[Turn].(string); ok && data[Trace] == nil {
		data[Trace] = "r" + turn
	}
	maps.DeleteFunc(data, func(_ string, v any) bool { return v == "-" })
	dir := transcript.Received
	if by != "" {
		dir = transcript.Sent
	}
	p.add(dir, transcript.Frame, label,
		&transcript.Event{Type: strings.TrimSpace(data[EventName].(string) + " " +
			text(map[string]any{"s": data[Subtype]}, "s")), Data: data})
}

// member parses one word.
func (p *parser) member(line, name, w string, data, payload map[string]any) {
	p.t.Helper()
	key, value, assigned := strings.Cut(w, "=")
	switch {
	case w[0] == '{' || w[0] == '"':
		v, _, err := wjson.Decode([]byte(anyMark.ReplaceAllString(w, "$0-n")))
		if err != nil {
			p.t.Fatalf("%q: %v", line, err)
		}
		data[Payload] = v
	case w[0] == '@':
		data[TargetID] = agent(w[1:])
	case w[0] == '-':
		data[w[1:]] = "-"
	case turnWord.MatchString(w):
		data[Turn] = w
	case txWord.MatchString(w):
		data[Tx] = w
	case markWord.MatchString(w):
		p.says(name, w+"-n", payload)
	case switchWord.MatchString(w):
		from, to, _ := strings.Cut(w, ">")
		data[SwitchFrom], data[SwitchTo], data[Reason], data[Trigger] = any(agent(from)), agent(to), "why", "what"
		if from == "" {
			data[SwitchFrom] = nil
		}
	case w == "chunk" || w == "final":
		data[Chunk], data[Final] = w == "chunk", w == "final"
	case key == "in" && assigned:
		data[Session] = value
	case key == "on" && assigned:
		data[Target] = value
	case key == "of" && assigned:
		data[TargetAgent], payload["target_agent"] = agent(value), agent(value)
	case key == "agent" && assigned:
		data[AgentID], payload["agent_id"] = agent(value), agent(value)
	case key == "mention" && assigned:
		data["mention"] = agent(value)
	case key == "meta" && assigned:
		v, _, err := wjson.Decode([]byte(value))
		if err != nil {
			p.t.Fatalf("%q: %v", line, err)
		}
		data[Metadata] = v
	case assigned:
		data[key] = value
	default:
		p.t.Fatalf("%q: what is %q?", line, w)
	}
}

// says puts a mark into a payload, where the message usually has it.
func (p *parser) says(name, token string, payload map[string]any) {
	switch name {
	case vocab.HandoverRequest:
		payload["reason"], payload["summary"] = "needed "+token, "so far: "+token
	case vocab.HandoverUIPrompt:
		payload["reason"] = "needed " + token
	default:
		payload["text"] = "piece " + token
	}
}

// summed returns the clauses of findings: kept, broken, and kept only by an absence.
func summed(all []verdict.Finding) (kept, broken, absent map[string]bool) {
	kept, broken, absent = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range all {
		into := broken
		switch {
		case f.Follows:
			continue
		case f.OK && f.Expected == obligation.Absence:
			into = absent
		case f.OK:
			into = kept
		}
		for _, id := range f.Clauses {
			into[id] = true
		}
	}
	return kept, broken, absent
}

// clauses parses ids without their RT-.
func clauses(ids string) []string {
	var out []string
	for _, id := range strings.Fields(ids) {
		out = append(out, "RT-"+id)
	}
	slices.Sort(out)
	return out
}

// told renders the failed findings.
func told(all []verdict.Finding) string {
	var b strings.Builder
	for _, f := range all {
		if !f.OK && !f.Follows {
			b.WriteString(strings.Join(f.Clauses, " ") + ": expected " + f.Expected + "; observed " + f.Observed + "\n")
		}
	}
	return b.String()
}
