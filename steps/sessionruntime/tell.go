package sessionruntime

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/model"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// handled is the step that fences: the model judges what was published before it.
const handled = "everything is handled"

var (
	named    = regexp.MustCompile(`^\w+$`)
	lettered = regexp.MustCompile(`^agent-([a-h])(?:-|$)`)
)

// tale is the state that the steps of a recording have reached so far.
type tale struct {
	bind     codec
	agents   map[string]string // id → letter
	sessions map[string]*toldSession
	names    map[string]bool // of sessions
	now      *toldSession
	last     string     // step
	limits   [2]float64 // in ms, by inputAck and cancelAck; 0: not short
	clock    string     // the limit that sessions named clock wait for; "": none has been converted
	back     bool
	turns    int
}

// Indexes of tale.limits.
const (
	inputAck = iota
	cancelAck
)

// toldSession is the state of a session that the steps of a recording have reached so far.
type toldSession struct {
	name, active string // letters; "": unknown
	agents       []string
	inputs       []*toldInput
	loose        bool              // the requirement of the source depends on earlier messages
	sent         map[string]string // id of a message → the step that delivers it again
	moved        map[string]bool   // agents that were invited or removed
	closed       bool
}

// toldInput is an input and its turn.
type toldInput struct {
	name, agent, turn, payload string
	asked                      string // the agent that will take it over
	over, cancelled, asking    bool
}

// CombinedSteps implements steps.RecordingConverter.
func (Protocol) CombinedSteps() []steps.Fold {
	const (
		says  = `the user says (?P<t>"\w+")`
		acks  = `agent (?P<a>"\w") acknowledges (?P<t>"\w+")`
		gets  = `the frontend receives the output of (?P<t>"\w+")`
		agent = `agent (?P<a>"\w")`
		at    = `(?P<t>"\w+") reaches agent (?P<a>"\w")`
		piece = agent + ` sends a chunk of (?P<t>"\w+")`
	)
	return []steps.Fold{
		{Steps: []string{`the bus is connected`, `(?P<s>session .+)`}, By: `$s`},
		{Steps: []string{at, handled, acks}, By: `$t runs at agent $a`},
		{Steps: []string{at, acks}, By: `$t runs at agent $a`},
		{Steps: []string{says, `(?P<t>"\w+") runs at agent (?P<a>"\w")`, piece, gets}, By: `agent $a is speaking in $t`},
		{Steps: []string{says, `(?P<t>"\w+") runs at agent (?P<a>"\w")`, handled, piece, gets},
			By: `agent $a is speaking in $t`},
		{Steps: []string{agent + ` sends the final of (?P<t>"\w+")`, gets}, By: `agent $a ends $t`},
	}
}

// TargetDials implements steps.RecordingConverter.
func (Protocol) TargetDials(string) bool { return false }

// ConvertRecording implements steps.RecordingConverter. It reads messages in the default binding. If a step would wait
// for something that the steps cannot determine, the fencing step takes its place, and the model judges what is
// published.
func (Protocol) ConvertRecording(steps.ConvertedRecording) func(transcript.Record) ([]string, bool) {
	t := &tale{bind: codec{wire: binding.Default()}, agents: map[string]string{}, sessions: map[string]*toldSession{},
		names: map[string]bool{}}
	return func(r transcript.Record) ([]string, bool) {
		t.bind.decode(&r)
		if r.Dir != transcript.Sent {
			t.received(r)
			return nil, true
		}
		if r.Kind == transcript.Open {
			return t.say("the bus is connected"), true
		}
		if r.Event == nil {
			return nil, false
		}
		if doc, ok := r.Event.Data.(map[string]any); ok && strings.HasPrefix(r.Event.Type, "parley ") {
			return t.control(doc)
		}
		m, ok := judge.Read(r)
		if !ok {
			return nil, false
		}
		return t.sent(m, r)
	}
}

// say returns steps, without consecutive fences.
func (t *tale) say(lines ...string) (out []string) {
	for _, l := range lines {
		if l != "" && (l != handled || t.last != handled) {
			out, t.last = append(out, l), l
		}
	}
	return out
}

// control returns the steps of a set-up or a fence.
func (t *tale) control(doc map[string]any) ([]string, bool) {
	switch doc["parley"] {
	case vocab.Fence:
		if t.now == nil || t.clock != "" {
			return nil, true
		}
		return t.say(handled), true
	case vocab.Setup:
		return t.setUp(doc)
	}
	return nil, false
}

func (t *tale) setUp(doc map[string]any) (lines []string, known bool) {
	id, list := text(doc["session_id"]), doc["agents"]
	name, _, _ := strings.Cut(id, "-")
	if strings.HasPrefix(name, "clock") && t.now != nil { // sessions with which the harness measures a limit
		if t.clock != "" {
			return nil, true
		}
		t.clock = "acknowledging an input"
		if slices.ContainsFunc(t.now.inputs, func(in *toldInput) bool { return in.cancelled && !in.over }) {
			t.clock = "confirming a cancel"
		}
		t.now.loose = true
		return t.say(fmt.Sprintf("the limit for %s expires", t.clock)), true
	}
	t.clock = ""
	if was := t.sessions[id]; was != nil {
		*was = toldSession{name: was.name, agents: was.agents, active: t.letter(text(doc["active_agent_id"])),
			sent: map[string]string{}, moved: map[string]bool{}}
		return append(t.in(was), t.say("the session is set up anew")...), true
	}
	ss := &toldSession{name: t.sessionName(name), active: t.letter(text(doc["active_agent_id"])),
		sent: map[string]string{}, moved: map[string]bool{}}
	agents, _ := list.([]any)
	for _, a := range agents {
		if l := t.letter(text(a)); l != "" {
			ss.agents = append(ss.agents, l)
		}
	}
	if len(agents) == 0 || len(ss.agents) < len(agents) {
		return nil, false
	}
	lines = t.hurries(doc)
	t.sessions[id], t.now = ss, ss
	who := "nobody"
	if ss.active != "" {
		who = fmt.Sprintf("agent %q", ss.active)
	}
	return append(lines, t.say(fmt.Sprintf("session %q of %s where %s is active", ss.name, all(ss.agents), who))...), true
}

// hurries returns the steps for shortened limits.
func (t *tale) hurries(doc map[string]any) (lines []string) {
	limits, _ := doc["limits"].(map[string]any)
	for i, l := range [...]struct{ name, step string }{
		inputAck:  {"input_ack_ms", "a short limit for acknowledgements of inputs"},
		cancelAck: {"cancel_ack_ms", "a short limit for confirmations of cancels"},
	} {
		ms, ok := limits[l.name].(float64)
		if !ok {
			if n, err := fmt.Sscan(fmt.Sprint(limits[l.name]), &ms); n != 1 || err != nil {
				continue
			}
		}
		if float64(unhurried.Milliseconds()) > ms && (t.limits[i] == 0 || ms < t.limits[i]) {
			lines, t.limits[i] = append(lines, t.say(l.step)...), ms
		}
	}
	return lines
}

func (t *tale) sessionName(name string) string {
	for n := 1; !named.MatchString(name) || t.names[name]; n++ {
		name = fmt.Sprintf("s%d", n)
	}
	t.names[name] = true
	return name
}

// all lists agents in the form of a step.
func all(letters []string) string {
	var out []string
	for _, l := range letters {
		out = append(out, fmt.Sprintf("%q", l))
	}
	if len(out) == 1 {
		return "agent " + out[0]
	}
	return "agents " + strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}

// letter returns an agent's name in steps; "" if there are too many.
func (t *tale) letter(id string) string {
	if id == "" {
		return ""
	}
	if l, ok := t.agents[id]; ok {
		return l
	}
	free := func(l string) bool {
		for _, taken := range t.agents {
			if taken == l {
				return false
			}
		}
		return true
	}
	if m := lettered.FindStringSubmatch(id); m != nil && free(m[1]) {
		t.agents[id] = m[1]
		return m[1]
	}
	for _, l := range strings.Split("abcdefgh", "") {
		if free(l) {
			t.agents[id] = l
			return l
		}
	}
	return ""
}

// in returns the step that selects a session for the following steps.
func (t *tale) in(ss *toldSession) []string {
	if t.now == ss {
		return nil
	}
	t.now = ss
	return t.say(fmt.Sprintf("in session %q", ss.name))
}

// received notes the turn of an input.
func (t *tale) received(r transcript.Record) {
	m, ok := judge.Read(r)
	if !ok || m.Kind() != judge.Route {
		return
	}
	ss := t.sessions[m.Session]
	if ss == nil {
		return
	}
	for _, in := range ss.inputs {
		if in.turn == "" && in.payload == wjson.Compact(m.Payload) {
			in.turn, in.agent = m.Turn, t.letter(m.TargetID)
			return
		}
	}
}

// open returns the unfinished turns of a session.
func (ss *toldSession) open() (out []*toldInput) {
	for _, in := range ss.inputs {
		if !in.over {
			out = append(out, in)
		}
	}
	return out
}

// sent returns the steps of a message that the bus delivered.
func (t *tale) sent(m judge.Message, r transcript.Record) ([]string, bool) {
	if strings.HasPrefix(r.Label, judge.Back) {
		if t.back {
			return nil, true
		}
		t.back = true
		return t.say("the orchestrator receives what it publishes on SYSTEM and BROADCAST"), true
	}
	ss := t.sessions[m.Session]
	if ss == nil {
		return nil, strings.HasPrefix(m.Session, "clock") && t.clock != ""
	}
	t.clock = ""
	lines := t.in(ss)
	if again, ok := ss.sent[m.ID]; ok && m.ID != "" {
		ss.loose = true
		return append(lines, t.say(again, handled)...), again != ""
	}
	where := ""
	if m.Target == vocab.ToBroadcast {
		where = " on BROADCAST"
	}
	var told []string
	known := false
	switch m.From {
	case judge.Frontend:
		told, known = t.fromFrontend(ss, m, where)
	case judge.Manager:
		told, known = t.fromManager(ss, m, where)
	case judge.Logger:
		if to := t.letter(text(m.Data[judge.SwitchTo])); m.Subtype == vocab.SwitchAgent && to != "" && where != "" {
			told, known = []string{fmt.Sprintf("the logger repeats a switch to agent %q on BROADCAST", to), handled}, true
		}
	default:
		told, known = t.fromAgent(ss, m, where)
	}
	if !known {
		ss.loose = true
	}
	return append(lines, t.say(told...)...), known
}
