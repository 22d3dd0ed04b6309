package externalagent

import (
	"slices"
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/steps/monitor"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Acts of a session under load, beside those that every protocol has.
const (
	loadCall = "call"
	loadSay  = "say"
	loadNew  = "new-session"
)

const (
	loadSaid  = 3  // agent.messages that are sent together under load
	loadKnown = 64 // latest ones that are known, to be compared with the history
)

// loadClauses are those that a session under load judges, by the role of the target: what the model cannot know of
// foreign traffic.
var loadClauses = map[string][]string{
	vocab.Host:  {"EA-005", "EA-025", "EA-073"},
	vocab.Relay: {"EA-007", "EA-008", "EA-009", "EA-025", "EA-038", "EA-041", "EA-046", "EA-055", "EA-063"},
}

// Load implements steps.Loadable. Each session has a relay session of its own.
func (Protocol) Load(env *steps.Env, base string) steps.Load {
	b := *binding.Of(env.Profile)
	switch {
	case env.Role == vocab.Agent:
		return steps.Load{Unfit: "an agent connects to the harness, and holds no sessions of others"}
	case b.SessionFor("a") == b.SessionFor("b"):
		return steps.Load{Unfit: `all agents would join one relay session, in which nothing is anybody's own ` +
			`(if the target has a host in every relay session, give external-agent.session: "s-{nonce}")`}
	}
	acts := []string{loadCall, loadSay, loadCall, steps.LoadReconnect, loadCall, loadNew}
	if env.Role == vocab.Host && len(b.Booking) == 0 {
		acts = []string{loadSay, steps.LoadReconnect, loadSay, loadNew}
	}
	url, files := base+b.WS.Path, 0
	if env.Role == vocab.Host {
		files = 1 // the log of the study session
	}
	return steps.Load{Acts: acts, Decode: decode, Paired: env.Role == vocab.Relay, Files: files,
		Judges: monitor.Monitor{Name: "load-sessions", Clauses: loadClauses[env.Role], Passive: true,
			Text: "what a session under load receives is its own, complete, in order and once"},
		New: func(mark steps.Mark, _ *steps.Claims) steps.LoadSession {
			l := &loaded{wire: b, env: env, mark: mark, url: url, relay: b.SessionFor(mark.Prefix() + "r")}
			if env.Role == vocab.Relay {
				l.host = &loadedHost{agent: l}
			}
			return l
		}}
}

// loaded is the agent of a relay session. It implements steps.LoadSession.
type loaded struct {
	wire  binding.Binding
	env   *steps.Env
	mark  steps.Mark
	url   string
	relay string      // the relay session
	host  *loadedHost // played by the harness if the target is a relay; nil otherwise

	study  string // the study session; "": there is none
	called int    // calls of the booking that were carried out
	said   []string
	last   object // the payload of the last state
	serial int

	act     string // in progress; "" for none
	moves   []func() []driver.Message
	asked   map[string]object // requests of this connection without an answer, by id
	updates int               // state.updated that must still come
}

// Dial implements steps.LoadSession.
func (l *loaded) Dial() driver.OpenOptions {
	l.act, l.asked, l.updates, l.moves = steps.LoadConnect, map[string]object{}, 0, nil
	if l.host != nil {
		l.host.forgets()
	}
	l.last = nil
	return driver.OpenOptions{URL: l.url, Header: l.env.Profile.Header()}
}

// Peer implements steps.LoadPaired.
func (l *loaded) Peer() steps.LoadSession {
	if l.host == nil {
		return nil
	}
	return l.host
}

// Act implements steps.LoadSession.
func (l *loaded) Act(name string) []driver.Message {
	l.act, l.updates, l.moves = name, 0, nil
	switch {
	case name == loadNew:
		l.moves = append(l.moves, l.ends, l.starts, l.looks)
	case name == loadCall && (l.host != nil || l.called < len(l.wire.Booking)):
		l.moves = append(l.moves, l.calls)
	case name == loadSay:
		l.moves = append(l.moves, l.says)
	default:
		l.moves = append(l.moves, l.looks)
	}
	return l.move()
}

// move makes the next move of the act.
func (l *loaded) move() []driver.Message {
	next := l.moves[0]
	l.moves = l.moves[1:]
	return next()
}

// ask makes a request, and notes that it must be answered.
func (l *loaded) ask(kind string, payload object) driver.Message {
	l.serial++
	id := l.mark.Nonce(l.serial)
	env := envelope(kind, id, "", payload)
	if kind != vocab.AgentMessage {
		l.asked[id] = env
	}
	if l.host != nil && kind != vocab.RelayJoin {
		l.host.in.add(env)
	}
	m, _ := message(env) // what the session says can be encoded
	return m
}

func (l *loaded) joins() []driver.Message {
	return []driver.Message{l.ask(vocab.RelayJoin, object{"role": vocab.AgentRole, vocab.SessionID: l.relay})}
}

func (l *loaded) starts() []driver.Message {
	start := l.wire.Start.For(l.mark.Nonce(l.serial))
	return []driver.Message{l.ask(vocab.SessionStart,
		object{"studyId": start.StudyID, "participantId": start.ParticipantID})}
}

func (l *loaded) looks() []driver.Message {
	return []driver.Message{l.ask(vocab.SnapshotGet, object{})}
}

func (l *loaded) ends() []driver.Message {
	return []driver.Message{l.ask(vocab.SessionEnd, object{"reason": "done, says " + l.mark.Nonce(l.serial)})}
}

// says sends several messages together, and asks for the state behind them.
func (l *loaded) says() (out []driver.Message) {
	for range loadSaid {
		word := l.mark.Nonce(l.serial + 1)
		out = append(out, l.ask(vocab.AgentMessage, object{"text": word}))
		if l.said = append(l.said, word); len(l.said) > loadKnown {
			l.said = l.said[1:]
		}
	}
	return append(out, l.looks()...)
}

// calls makes the next call of the booking.
func (l *loaded) calls() []driver.Message {
	tool, params := vocab.PostMessage, object{"text": "a word of " + l.mark.Nonce(l.serial+1)}
	if l.host == nil {
		next := l.wire.Booking[l.called]
		fit, err := next.ParamsFor(l.last[vocab.Spec])
		if err != nil { // the state shows another stage than the profile says, which any run reports
			return l.looks()
		}
		tool, params = next.Tool, fit
	}
	if l.host != nil || l.env.Profile.Bundled || slices.Contains(model.Effective, tool) {
		l.updates = 1
	}
	return []driver.Message{l.ask(vocab.ToolCall, object{vocab.ToolName: tool, vocab.Params: params,
		"reason": "the next of " + l.mark.Nonce(l.serial)})}
}

// HandleRecord implements steps.LoadSession.
func (l *loaded) HandleRecord(r *transcript.Record) (out steps.LoadStep) {
	switch {
	case r.Dir != transcript.Received:
		return out
	case r.Kind == transcript.Open:
		out.Send = l.joins()
		return out
	}
	if alien := l.mark.Foreign(string(r.Bytes)); alien != "" {
		out.Find(r, false, "nothing of another relay session, as "+alien+" is", "EA-025")
		return out
	}
	if r.Event == nil {
		return out
	}
	if l.host != nil && kindOf(r) != vocab.RelayJoined {
		l.host.out.take(r, "the host", &out)
	}
	if to := field(r, vocab.ReplyTo); to != "" {
		l.answered(r, to, &out)
	}
	switch kindOf(r) {
	case vocab.StateUpdated:
		l.last = payload(r)
		l.updates--
	case vocab.SessionEnded:
		l.study = ""
	}
	l.proceeds(&out)
	return out
}

// proceeds makes the next move if all answers have come, or ends the act.
func (l *loaded) proceeds(out *steps.LoadStep) {
	if l.act == "" || out.Failed != "" || len(l.asked) > 0 || l.updates > 0 || l.host != nil && !l.host.rests() {
		return
	}
	if len(l.moves) > 0 {
		out.Send = append(out.Send, l.move()...)
		return
	}
	l.act, out.Done = "", true
}

// answered takes the answer to a request. The model judges it.
func (l *loaded) answered(r *transcript.Record, to string, out *steps.LoadStep) {
	env, open := l.asked[to]
	asked, _ := env[vocab.Type].(string)
	switch kind := kindOf(r); {
	case !open:
	case kind == vocab.ErrorMessage:
		l.refused(r, to, asked, out)
	case kind == model.AnswerOf[asked]:
		delete(l.asked, to)
		l.course(r, out)
	}
}

// refused handles an error. After a reconnection a host may have ended the session (EA-G09).
func (l *loaded) refused(r *transcript.Record, to, asked string, out *steps.LoadStep) {
	code, _ := payload(r)[vocab.Code].(string)
	if asked == vocab.SnapshotGet && l.act == steps.LoadConnect && code == vocab.SessionNotActive {
		delete(l.asked, to)
		l.study, l.moves = "", []func() []driver.Message{l.starts, l.looks}
		return
	}
	out.Failed = "error " + code
}

// course follows the proper answer to a request.
func (l *loaded) course(r *transcript.Record, out *steps.LoadStep) {
	body := payload(r)
	switch kindOf(r) {
	case vocab.RelayJoined:
		l.moves = []func() []driver.Message{l.looks}
		if l.study == "" {
			l.moves = []func() []driver.Message{l.starts, l.looks}
		}
	case vocab.SessionStarted:
		l.study, _ = body[vocab.SessionID].(string)
		l.called, l.last, l.said = 0, nil, nil
	case vocab.SnapshotState:
		if l.host == nil {
			l.shown(r, out)
		}
		l.last = body
	case vocab.ToolResult:
		if body[vocab.OK] != true {
			out.Failed = "a call has failed"
			return
		}
		l.called++
	}
}

// shown judges a snapshot. Beside a bundled host nothing says what the history shows, and when a state is announced.
func (l *loaded) shown(r *transcript.Record, out *steps.LoadStep) {
	body := payload(r)
	out.Find(r, true, "", "EA-025")
	if !l.env.Profile.Bundled {
		return
	}
	out.Find(r, inOrder(wjson.Compact(body[vocab.MessageHistory]), l.said),
		"each message of the agent in messageHistory, in order and once: "+strings.Join(l.said, " "), "EA-005")
	if l.last != nil {
		same := true
		for _, name := range model.Members {
			same = same && wjson.Equal(l.last[name], body[name])
		}
		out.Find(r, same, "the state of the last state.updated", "EA-073")
	}
}

// inOrder reports whether a text contains the words, in order and each once.
func inOrder(text string, words []string) bool {
	at := 0
	for _, w := range words {
		w = `"` + w + `"`
		i := strings.Index(text[at:], w)
		if i < 0 || strings.Count(text, w) != 1 {
			return false
		}
		at += i + len(w)
	}
	return true
}

var (
	_ steps.Loadable   = Protocol{}
	_ steps.LoadPaired = (*loaded)(nil)
)
