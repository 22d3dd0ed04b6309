package sessionchat

import (
	"fmt"
	"strings"

	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/steps/sessionchat/model"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Acts of a session under load, beside those that every protocol has.
const (
	loadChat      = "chat"
	loadSwitch    = "switch"
	loadPing      = "ping"
	loadInterrupt = "interrupt"
	loadRecall    = "recall"
)

const (
	loadPieces = 4 // of an answer under load
	loadKnown  = 6 // latest turns of an agent_id that are known, to be compared with its history
)

// loadClauses are those that a session under load judges.
var loadClauses = []string{"SC-006", "SC-009", "SC-012", "SC-016", "SC-020", "SC-027", "SC-042"}

// Load implements steps.Loadable.
func (Protocol) Load(env *steps.Env, base string) steps.Load {
	acts := []string{loadPing, steps.LoadReconnect}
	if env.Brain != nil {
		acts = []string{loadChat, loadSwitch, loadRecall, loadInterrupt, loadPing, steps.LoadReconnect, loadRecall}
	}
	b := newCodec(env.Profile, base)
	return steps.Load{Acts: acts, Decode: b.decode,
		Judges: monitor.Monitor{Name: "load-sessions", Clauses: loadClauses, Passive: true,
			Text: "what a session under load receives is its own, complete, in order and once"},
		New: func(mark steps.Mark, claims *steps.Claims) steps.LoadSession {
			l := &loaded{b: b, env: env, mark: mark, claims: claims}
			for i := range l.agents {
				l.agents[i].id = mark.Prefix() + string(rune('a'+i))
			}
			return l
		}}
}

// loaded is a client with two agent_ids, and so two sessions, on one connection. It implements steps.LoadSession.
type loaded struct {
	b      *codec
	env    *steps.Env
	mark   steps.Mark
	claims *steps.Claims

	agents [2]loadedAgent
	now    int // whose turn it is
	serial int

	act   string       // in progress; "" for none
	nonce string       // of the act
	cut   bool         // the interrupt was sent
	text  string       // of the answer
	turn  *model.Model // of the act
	asked int          // record of its chat
}

// loadedAgent is an agent_id with its session.
type loadedAgent struct {
	id      string
	session string   // its session_id; "" before it is known
	turns   []string // nonces of the latest turns
	cleared bool     // its history may have been shortened: a turn has failed
}

// Dial implements steps.LoadSession.
func (l *loaded) Dial() driver.OpenOptions {
	if l.act != "" && l.act != steps.LoadConnect { // its turn may be in the history or not
		l.agents[l.now].cleared = true
	}
	l.act = steps.LoadConnect
	return driver.OpenOptions{URL: l.b.url(), Header: l.env.Profile.Header()}
}

// Act implements steps.LoadSession.
func (l *loaded) Act(name string) []driver.Message {
	l.serial++
	l.act, l.nonce, l.cut, l.text, l.turn = name, l.mark.Nonce(l.serial), false, "", model.New(obligation.Ours)
	switch name {
	case loadPing:
		return l.message(vocab.PingType, nil)
	case loadSwitch:
		l.now = 1 - l.now
		fallthrough
	case loadChat:
		return l.chat(fmt.Sprintf("[[stream %s %d]]", l.nonce, loadPieces))
	case loadInterrupt:
		return l.chat(fmt.Sprintf("[[stream %[1]s 1]] [[hold %[1]s]]", l.nonce))
	}
	return l.chat(fmt.Sprintf("[[recall %s]]", l.nonce))
}

func (l *loaded) chat(content string) []driver.Message {
	a := &l.agents[l.now]
	return l.message(vocab.ChatType, fields{vocab.AgentID: a.id, vocab.Content: content})
}

func (l *loaded) message(kind string, f fields) []driver.Message {
	m, err := l.b.message(kind, f)
	if err != nil { // the profile names places that exclude each other, which any run reports
		return nil
	}
	return []driver.Message{m}
}

// HandleRecord implements steps.LoadSession.
func (l *loaded) HandleRecord(r *transcript.Record) (out steps.LoadStep) {
	if l.turn != nil {
		l.turn.Take(*r)
	}
	if r.Dir != transcript.Received {
		if l.turn != nil && l.turn.Chat(r.N) != nil {
			l.asked = r.N
		}
		return out
	}
	if alien := l.mark.Foreign(string(r.Bytes)); alien != "" {
		out.Find(r, false, "nothing of another session, as "+alien+" is", "SC-027", "SC-021")
		return out
	}
	switch {
	case r.Kind == transcript.Open:
		l.ends(&out)
	case r.Event == nil:
	case r.Event.Type == vocab.PongMessage:
		if l.act == loadPing {
			l.ends(&out)
		}
	case r.Event.Type == vocab.ErrorMessage:
		out.Failed = "error " + text(r, vocab.Code)
	default:
		l.ofTurn(r, &out)
	}
	return out
}

func (l *loaded) ends(out *steps.LoadStep) { l.act, out.Done = "", true }

// ofTurn judges a message of a turn.
func (l *loaded) ofTurn(r *transcript.Record, out *steps.LoadStep) {
	a := &l.agents[l.now]
	switch r.Event.Type {
	case vocab.SystemMessage, vocab.StreamMessage, vocab.AssistantMessage, vocab.ResultMessage:
	default:
		return
	}
	if text(r, vocab.AgentID) != a.id || l.nonce == "" {
		return
	}
	l.owns(r, a, out)
	if l.act == "" {
		return
	}
	switch r.Event.Type {
	case vocab.StreamMessage, vocab.AssistantMessage:
		l.said(r, out)
	case vocab.ResultMessage:
		l.results(r, a, out)
	}
}

// owns judges the session_id of a message.
func (l *loaded) owns(r *transcript.Record, a *loadedAgent, out *steps.LoadStep) {
	id := text(r, vocab.SessionID)
	switch {
	case id == "":
	case a.session == "":
		out.Find(r, l.claims.ClaimID("session", id, l.mark.Session*len(l.agents)+l.now),
			"a session_id that no other session has", "SC-042", "SC-009")
		a.session = id
	case l.env.Profile.Bundled: // others may give a resumed session a new id (SC-016a)
		out.Find(r, id == a.session, "session_id "+a.session+", as before", "SC-042", "SC-006")
	}
}

// said takes words of the answer. An interrupt follows the first of them.
func (l *loaded) said(r *transcript.Record, out *steps.LoadStep) {
	if l.text += text(r, vocab.Text); l.act == loadInterrupt && !l.cut && strings.Contains(l.text, l.nonce) {
		l.cut = true
		out.Send = l.message(vocab.InterruptType, fields{vocab.AgentID: l.agents[l.now].id})
	}
}

// results ends the act whose turn has its result.
func (l *loaded) results(r *transcript.Record, a *loadedAgent, out *steps.LoadStep) {
	how := text(r, vocab.Subtype)
	switch {
	case how == vocab.Failed:
		a.cleared = true
		out.Failed = "the turn has failed"
		return
	case l.act == loadRecall:
		l.recalls(r, a, out)
	case l.act == loadChat || l.act == loadSwitch:
		if c := l.turn.Chat(l.asked); c != nil { // a late result of another turn may precede the chat
			out.Findings = append(out.Findings, c.Found(model.InOrder))
		}
	}
	out.Find(r, true, "", "SC-027")
	if a.turns = append(a.turns, l.nonce); len(a.turns) > loadKnown {
		a.turns = a.turns[1:]
	}
	l.ends(out)
}

// recalls judges the history that the model was sent: it ends with the latest turns of the agent_id, in order.
func (l *loaded) recalls(r *transcript.Record, a *loadedAgent, out *steps.LoadStep) {
	if a.cleared {
		return
	}
	want := strings.Join(a.turns, " ")
	clause := []string{"SC-006"}
	if want != "" {
		clause = append(clause, "SC-016")
	}
	out.Find(r, strings.Contains(l.text, want+" (") || want == "" && strings.Contains(l.text, "(0)"),
		"an answer from the history of the session, which ends with "+want+": the answer was "+l.text, clause...)
}

var (
	_ steps.Loadable    = Protocol{}
	_ steps.LoadSession = (*loaded)(nil)
)
