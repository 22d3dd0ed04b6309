package agentselect

import (
	"fmt"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/monitor"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Acts of a session under load, beside those that every protocol has.
const (
	loadSwitch    = "switch"
	loadRefused   = "refused-switch"
	loadChat      = "chat"
	loadTool      = "tool"
	loadInterrupt = "interrupt"
	loadRecall    = "recall"
)

// loadPieces is the number of pieces of an answer under load.
const loadPieces = 4

// loadClauses are those that a session under load judges: what the model cannot know of foreign traffic.
var loadClauses = []string{"AS-015", "AS-019", "AS-031", "AS-043", "AS-093", "AS-094", "AS-095", "AS-100", "AS-101"}

// Load implements steps.Loadable.
func (Protocol) Load(env *steps.Env, base string) steps.Load {
	acts := []string{loadSwitch, loadRefused, loadSwitch, steps.LoadReconnect}
	if env.Brain != nil {
		acts = []string{loadSwitch, loadRefused, loadSwitch, loadChat, loadInterrupt, loadRecall, steps.LoadReconnect}
		if env.Profile.Tools.Confirm != nil {
			acts = append([]string{loadTool}, acts...)
		}
	}
	b := newCodec(env.Profile, base, env.Driver.Name())
	return steps.Load{Acts: acts, Decode: b.decode,
		Judges: monitor.Monitor{Name: "load-sessions", Clauses: loadClauses, Passive: true,
			Text: "what a session under load receives is its own, complete, in order and once"},
		New: func(mark steps.Mark, claims *steps.Claims) steps.LoadSession {
			return &loaded{b: b, env: env, mark: mark, claims: claims}
		}}
}

// loaded is a session under load. It implements steps.LoadSession.
type loaded struct {
	b      *codec
	env    *steps.Env
	mark   steps.Mark
	claims *steps.Claims

	conn    string   // id of the connection; "" before it is known
	offered []string // ids of the agents
	session string   // "" before it was created
	agent   string   // of the last switch; "" if unknown
	serial  int
	unnamed bool // the last switch did not name the session, so that the next one does

	act      string // in progress; "" for none
	nonce    string // of the act
	pieces   *steps.Pieces
	whole    bool   // the answer has come in one message, or all of its pieces
	released bool   // the interrupt was sent
	past     string // nonce of the last answer that came to its end
}

// Dial implements steps.LoadSession. Where an act has failed, it goes on with a new session: the turn may still run in
// the former one, which is busy then, and may be told the rest of it.
func (l *loaded) Dial() driver.OpenOptions {
	l.claims.ReleaseID("connection", l.conn, l.mark.Session)
	if l.act != "" && l.act != steps.LoadConnect {
		l.session = ""
	}
	l.conn, l.offered, l.agent, l.act = "", nil, "", steps.LoadConnect
	l.pieces, l.whole, l.released = nil, false, false
	return driver.OpenOptions{URL: l.b.streamURL(""), Header: l.env.Profile.Header()}
}

// Act implements steps.LoadSession.
func (l *loaded) Act(name string) []driver.Message {
	l.serial++
	l.act, l.nonce, l.pieces, l.whole, l.released = name, l.mark.Nonce(l.serial), nil, false, false
	switch name {
	case loadSwitch:
		return l.message(vocab.SwitchAgentType, l.about(fields{vocab.AgentID: l.next()}))
	case loadRefused:
		return l.message(vocab.SwitchAgentType, l.about(fields{vocab.AgentID: l.nonce}))
	case loadInterrupt:
		l.pieces = &steps.Pieces{Nonce: l.nonce, Of: 1}
		return l.chat("[[stream %[1]s 1]] [[hold %[1]s]]")
	case loadRecall:
		return l.chat("[[recall %s]]")
	case loadTool:
		tool := l.env.Profile.Tools.Confirm
		arguments := wjson.Compact(tool.Arguments)
		if tool.Arguments == nil {
			arguments = "{}"
		}
		return l.chat("[[tool %s " + tool.Name + " " + strings.ReplaceAll(arguments, "%", "%%") + "]]")
	}
	l.pieces = &steps.Pieces{Nonce: l.nonce, Of: loadPieces}
	return l.chat(fmt.Sprintf("[[stream %%s %d]]", loadPieces))
}

// about names the session in every other switch: without it, the bound session is meant.
func (l *loaded) about(f fields) fields {
	if l.unnamed = !l.unnamed; !l.unnamed {
		f[vocab.SessionID] = l.session
	}
	return f
}

func (l *loaded) chat(format string) []driver.Message {
	return l.message(vocab.ChatType, fields{vocab.Content: fmt.Sprintf(format, l.nonce), vocab.SessionID: l.session})
}

func (l *loaded) message(kind string, f fields) []driver.Message {
	m, err := l.b.message(kind, f, l.connID())
	if err != nil { // the profile names places that exclude each other, which any run reports
		return nil
	}
	return []driver.Message{m}
}

func (l *loaded) connID() any {
	if l.conn == "" {
		return nil
	}
	return l.conn
}

// next returns the agent to switch to: each of the offered ones in turn.
func (l *loaded) next() string {
	for i := range l.offered {
		if id := l.offered[(l.serial+i)%len(l.offered)]; id != l.agent {
			return id
		}
	}
	return vocab.General
}

// HandleRecord implements steps.LoadSession.
func (l *loaded) HandleRecord(r *transcript.Record) (out steps.LoadStep) {
	if r.Dir != transcript.Received {
		return out
	}
	if alien := l.mark.Foreign(string(r.Bytes)); alien != "" {
		broken(&out, r, "nothing of another session, as "+alien+" is", "AS-015", "AS-094")
	}
	switch {
	case r.Kind == transcript.Response:
		l.answered(r, &out)
	case r.Event == nil || r.Event.Again:
	case r.Event.Type == vocab.ConnectedEvent:
		l.conn, _ = field(*r, vocab.ConnectionID).(string)
		finding(&out, r, l.claims.ClaimID("connection", l.conn, l.mark.Session),
			"a connectionId that no other open connection has", "AS-031")
	case r.Event.Type == vocab.AgentListEvent:
		l.greeted(r, &out)
	default:
		l.event(r, &out)
	}
	return out
}

// finding adds a finding on a record.
func finding(out *steps.LoadStep, r *transcript.Record, ok bool, expected string, clauses ...string) {
	out.Findings = append(out.Findings, steps.CheckOf(*r, ok, expected, clauses...))
}

func broken(out *steps.LoadStep, r *transcript.Record, expected string, clauses ...string) {
	finding(out, r, false, expected, clauses...)
}

// greeted asks for the session once the connection accepts messages.
func (l *loaded) greeted(r *transcript.Record, out *steps.LoadStep) {
	l.offered = nil
	for _, a := range agentInfos(field(*r, vocab.Agents)) {
		l.offered = append(l.offered, a.ID)
	}
	if l.act != steps.LoadConnect {
		return
	}
	l.serial++
	f, kind := fields{}, vocab.SessionCreateType
	if l.session != "" {
		f, kind = fields{vocab.SessionID: l.session}, vocab.SessionLoadType
	}
	if l.b.ws {
		f[vocab.RequestID] = l.mark.Nonce(l.serial)
	}
	out.Send = l.message(kind, f)
}

// answered handles the answer to an HTTP request.
func (l *loaded) answered(r *transcript.Record, out *steps.LoadStep) {
	v, _, err := wjson.Decode(r.Bytes)
	at := binding.Of(l.env.Profile).Fields.Answer
	success, said := at.Success.Get(v)
	switch {
	case l.act == "":
	case r.Status/100 != 2:
		out.Failed = "HTTP " + r.Label
	case err == nil && said && success == any(false):
		out.Failed = "success is false"
	case l.act != steps.LoadConnect || l.b.ws:
	case err != nil:
		out.Failed = "the answer about the session is not JSON"
	default:
		id, _ := at.SessionID.Get(v)
		text, _ := id.(string)
		l.bound(r, text, out)
	}
}

// bound ends the act of connecting: the session was created or loaded.
func (l *loaded) bound(r *transcript.Record, id string, out *steps.LoadStep) {
	switch {
	case l.session == "" && id == "":
		out.Failed = "no id of the session"
		return
	case l.session == "":
		l.session = id
		finding(out, r, l.claims.ClaimID("session", id, l.mark.Session), "a session that no other client was given",
			"AS-093", "AS-100")
	case id != "":
		finding(out, r, id == l.session, "the session that was asked for, "+l.session, "AS-101")
	}
	l.ends(out)
}

func (l *loaded) ends(out *steps.LoadStep) {
	l.act = ""
	out.Done = true
}

// event handles an event after the greeting.
func (l *loaded) event(r *transcript.Record, out *steps.LoadStep) {
	switch r.Event.Type {
	case vocab.SessionCreatedEvent, vocab.SessionLoadedEvent:
		if id, _ := field(*r, vocab.SessionID).(string); l.act == steps.LoadConnect && l.b.ws {
			l.bound(r, id, out)
		}
	case vocab.AgentSwitchedEvent:
		l.switched(r, out)
	case vocab.ErrorEvent:
		l.fails(r, out)
	case vocab.MessageEvent:
		l.says(r, out)
	case vocab.ConfirmationRequestEvent:
		if l.act == loadTool {
			out.Send = l.confirms(r)
		}
	case vocab.CompleteEvent:
		l.completes(r, out)
	}
}

func (l *loaded) switched(r *transcript.Record, out *steps.LoadStep) {
	current, _ := field(*r, vocab.CurrentAgentID).(string)
	if l.act != loadSwitch {
		broken(out, r, "no agent_switched, because this client has not asked for a switch", "AS-095", "AS-015")
		return
	}
	finding(out, r, true, "", "AS-095")
	if l.agent != "" {
		previous, _ := field(*r, vocab.PreviousAgentID).(string)
		finding(out, r, previous == l.agent, "the session's own agent before the switch, "+l.agent, "AS-043", "AS-093")
	}
	l.agent = current
	l.ends(out)
}

func (l *loaded) fails(r *transcript.Record, out *steps.LoadStep) {
	code, _ := field(*r, vocab.ErrorCode).(string)
	switch {
	case l.act == loadRefused && code != "": // the model judges which
		l.ends(out)
	case code != "":
		out.Failed = "error " + code
	default:
		out.Failed = "error without a code"
	}
}

// says follows the pieces of an answer, or judges the whole of it.
func (l *loaded) says(r *transcript.Record, out *steps.LoadStep) {
	text, _ := field(*r, vocab.Content).(string)
	if l.past != "" && l.act != loadRecall && strings.Contains(text, "stream "+l.past+" ") {
		broken(out, r, "nothing more of the answer to "+l.past+", which was complete", "AS-019")
	}
	if l.pieces == nil || l.act == "" {
		return
	}
	if streaming, _ := field(*r, vocab.Streaming).(bool); !streaming {
		if whole := (&steps.Pieces{Nonce: l.nonce, Of: l.pieces.Of}); whole.CheckPiece(text) == "" && whole.Whole() {
			l.whole = true
		}
		return
	}
	want := l.pieces.Expected()
	if wrong := l.pieces.CheckPiece(text); wrong != "" {
		broken(out, r, want, "AS-019")
	}
	l.whole = l.whole || l.pieces.Whole()
	if l.act == loadInterrupt && !l.released && l.pieces.Any() {
		l.released = true
		out.Send = l.message(vocab.AbortType, fields{vocab.SessionID: l.session})
	}
}

func (l *loaded) confirms(r *transcript.Record) []driver.Message {
	var answer any = true
	if tool := l.env.Profile.Tools.Confirm; tool.Response != nil {
		answer = tool.Response
	}
	return l.message(vocab.ConfirmationResponse,
		fields{vocab.RequestID: r.Event.RequestID, vocab.Response: answer, vocab.SessionID: l.session})
}

// completes ends the act whose turn is complete.
func (l *loaded) completes(r *transcript.Record, out *steps.LoadStep) {
	id, named := field(*r, vocab.SessionID).(string)
	if named && id != l.session {
		broken(out, r, "complete for session "+l.session+" only", "AS-094", "AS-015")
		return
	}
	switch l.act {
	case loadChat:
		finding(out, r, l.whole, "the whole answer, "+l.pieces.Expected()+" included, before the turn is complete", "AS-019")
		l.past = l.nonce
	case loadInterrupt, loadTool, loadRecall:
	default:
		return
	}
	finding(out, r, true, "", "AS-094", "AS-015")
	l.ends(out)
}

var (
	_ steps.Loadable    = Protocol{}
	_ steps.LoadSession = (*loaded)(nil)
)
