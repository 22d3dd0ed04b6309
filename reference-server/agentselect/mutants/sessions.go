package mutants

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// sessionFaults use the agent of another session, or send to the wrong connection.
var sessionFaults = map[string]fault{
	"shared-agent":          deciding(rules{AgentKey: func(_, _ string) string { return "" }}),
	"agent-per-connection":  deciding(rules{AgentKey: func(_, conn string) string { return conn }}),
	"broadcasts-switches":   broadcasting(confirms),
	"broadcasts-refusals":   broadcasting(refuses()),
	"announces-to-asker":    announcesToAsker,
	"answers-on-oldest":     elsewhere(confirms, oldest),
	"answers-on-newest":     elsewhere(confirms, newest),
	"refuses-on-oldest":     elsewhere(refuses(), oldest),
	"refuses-on-newest":     elsewhere(refuses(), newest),
	"acts-for-oldest":       targeting(unnamed(oldest)),
	"named-becomes-default": targeting(remembersNamed),
	"acts-for-newest":       targeting(unnamed(newest)),
	"unbound-acts-on-last":  targeting(orElse(lastOfAnyone, false)),
	"unbound-acts-on-first": targeting(orElse(firstOfAnyone, false)),
	"unbound-creates":       targeting(orElse(creates, false)),
	"needs-session-id":      targeting(needsName),
	"ignores-session-id": targeting(
		func(m manager, c connInfo, _ message) string { return m.DefaultSession(c.ID) }),
	"unknown-session-is-own": targeting(
		orElse(func(m manager, c connInfo) string { return m.DefaultSession(c.ID) }, true)),
	"unknown-session-is-created": targeting(orElse(func(m manager, c connInfo) string { return m.NewSession(c) }, true)),
	"session-of-last-switch":     sessionOfLastSwitch,
	"session-ids-are-trimmed":    findingSession(func(asked, id string) bool { return strings.TrimSpace(asked) == id }),
	"session-ids-without-case":   findingSession(strings.EqualFold),
	"switch-changes-all":         changesAll,
}

// findingSession looks sessions up by what is like their ids.
func findingSession(like func(asked, id string) bool) fault {
	return receiving(func(m manager, _ connInfo, msg message) bool {
		asked, _ := msg["sessionId"].(string)
		i := slices.IndexFunc(m.Sessions(), func(id string) bool { return like(asked, id) })
		if msg["type"] == proto.SwitchAgentType && i >= 0 {
			msg["sessionId"] = m.Sessions()[i]
		}
		return true
	})
}

func targeting(f func(m manager, c connInfo, msg message) string) fault {
	return deciding(rules{Target: f})
}

// orElse uses another session if the named one does not exist, or if none was named.
func orElse(other func(m manager, c connInfo) string, named bool) func(manager, connInfo, message) string {
	return func(m manager, c connInfo, msg message) string {
		session := correct.Target(m, c, msg)
		if _, present := msg["sessionId"]; session == "" && present == named {
			return other(m, c)
		}
		return session
	}
}

// broadcasting sends to the other connections first.
func broadcasting(what which) fault {
	return telling(func(m manager, to connInfo, ev event, send sender) {
		for _, c := range m.Connections() {
			if what(ev) && c.ID != to.ID {
				send(c.ID, ev)
			}
		}
		send(to.ID, ev)
	})
}

// announcesToAsker sends agent_switched to the asking connection, whichever session it is about.
func announcesToAsker(o *options) {
	asker := connInfo{}
	o.Inbound = func(_ manager, from connInfo, _ message) bool {
		asker = from
		return true
	}
	elsewhere(confirms, func(manager, connInfo) connInfo { return asker })(o)
}

func oldest(m manager, c connInfo) connInfo {
	if all := m.Connections(); len(all) > 0 {
		return all[0]
	}
	return c
}

func newest(m manager, c connInfo) connInfo {
	if all := m.Connections(); len(all) > 0 {
		return all[len(all)-1]
	}
	return c
}

// remembersNamed makes a session that a switch names the one that its connection means without a name.
func remembersNamed(m manager, c connInfo, msg message) string {
	session := correct.Target(m, c, msg)
	if msg["sessionId"] == any(session) && msg["type"] == proto.SwitchAgentType && m.Owner(session) == c.ID {
		m.SetDefault(c.ID, session)
	}
	return session
}

// unnamed acts for another connection if no session is named.
func unnamed(which func(manager, connInfo) connInfo) func(manager, connInfo, message) string {
	return func(m manager, c connInfo, msg message) string {
		if _, present := msg["sessionId"]; !present {
			c = which(m, c)
		}
		return correct.Target(m, c, msg)
	}
}

func lastOfAnyone(m manager, _ connInfo) string {
	all := append([]string{""}, m.Sessions()...)
	return all[len(all)-1]
}

func firstOfAnyone(m manager, _ connInfo) string { return append(m.Sessions(), "")[0] }

func creates(m manager, c connInfo) string {
	own := m.NewSession(c)
	m.SetDefault(c.ID, own)
	return own
}

func needsName(m manager, c connInfo, msg message) string {
	if _, present := msg["sessionId"]; !present {
		return ""
	}
	return correct.Target(m, c, msg)
}

// sessionOfLastSwitch uses one session for all messages that name none.
func sessionOfLastSwitch(o *options) {
	last := ""
	o.Policy.Target = func(m manager, c connInfo, msg message) string {
		own := correct.Target(m, c, msg)
		if _, present := msg["sessionId"]; present || last == "" || own == "" {
			return own
		}
		return last
	}
	o.Policy.Commit = committed(func(sw agentselect.Switch) { last = sw.Session })
}

// changesAll switches every session that has switched before.
func changesAll(o *options) {
	setters := map[string]func(string){}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		if sw.Refusal != nil {
			return
		}
		setters[sw.Session] = set
		for _, set := range setters {
			set(sw.AgentID)
		}
	}
}

// leftoverFaults do what the protocol says at first, and leave something wrong behind.
var leftoverFaults = map[string]fault{
	"turns-use-connection-agent":  turnsUseConnectionAgent,
	"turns-forget-after-refusal":  turnsForgetAfterRefusal,
	"turns-forget-after-load":     turnsForgetAfterLoad,
	"failed-turn-resets-agent":    failedTurnResetsAgent,
	"initial-agent-in-name":       initialAgentInName,
	"members-are-agents":          deciding(rules{Agents: withMembers}),
	"loading-back-is-ignored":     loadingBackIgnored,
	"failed-load-unbinds":         failedLoadUnbinds,
	"busy-after-a-later-request":  busyAfterLaterRequest,
	"any-answer-frees-the-oldest": anyAnswerFreesOldest,
}

// usesAgent uses for turns the agent that pick returns for a session; "": that of the session.
func usesAgent(o *options, pick func(session string) string) {
	var now []agent
	o.Policy.Agents = func(_ agentselect.Purpose, all []agent) []agent {
		now = all
		return all
	}
	o.Policy.Configure = func(t agentselect.TurnView) config {
		id := pick(t.Session)
		i := slices.IndexFunc(now, func(a agent) bool { return a.ID == id })
		if i < 0 || t.Call > 1 {
			return correct.Configure(t)
		}
		return now[i].Config()
	}
}

// usesGeneral uses general for the turns of some sessions.
func usesGeneral(o *options, where func(session string) bool) {
	usesAgent(o, func(session string) string {
		if where(session) {
			return proto.General
		}
		return ""
	})
}

// turnsUseConnectionAgent uses for turns what was last switched to on the session's connection.
func turnsUseConnectionAgent(o *options) {
	owner, last := map[string]string{}, map[string]string{}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		owner[session] = c.ID
		return correct.Bind(m, how, c, session)
	}
	o.Policy.Commit = committed(func(sw agentselect.Switch) { last[sw.Conn] = sw.AgentID })
	usesAgent(o, func(session string) string { return last[owner[session]] })
}

// turnsForgetAfterRefusal runs the turns of a session with general from a refused switch to the next successful one.
func turnsForgetAfterRefusal(o *options) {
	refused := map[string]bool{}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		correct.Commit(sw, set)
		refused[sw.Session] = sw.Refusal != nil && sw.Refusal.Code == proto.AgentNotFound
	}
	usesGeneral(o, func(session string) bool { return refused[session] })
}

// failedTurnResetsAgent puts a session back to general when its turn fails.
func failedTurnResetsAgent(o *options) {
	o.Outbound = changed(of(proto.ErrorEvent), func(m manager, to *connInfo, ev *event) {
		if !refuses()(*ev) {
			m.SetAgentOf(m.DefaultSession(to.ID), proto.General)
		}
	})
}

// turnsForgetAfterLoad runs the turns of a loaded session with general until it is switched.
func turnsForgetAfterLoad(o *options) {
	loaded := map[string]bool{}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		loaded[session] = how == agentselect.OnLoad
		return correct.Bind(m, how, c, session)
	}
	o.Policy.Commit = committed(func(sw agentselect.Switch) { delete(loaded, sw.Session) })
	usesGeneral(o, func(session string) bool { return loaded[session] })
}

// initialAgentInName runs the turns of a session with general until it is switched.
func initialAgentInName(o *options) {
	switched := map[string]bool{}
	o.Policy.Commit = committed(func(sw agentselect.Switch) { switched[sw.Session] = true })
	usesGeneral(o, func(session string) bool { return !switched[session] })
}

// withMembers finds agents that are members of every object of the server's language.
func withMembers(why agentselect.Purpose, now []agent) []agent {
	if why == agentselect.ForSwitch || why == agentselect.ForTurn {
		now = append(slices.Clone(now), agent{ID: "constructor"}, agent{ID: "__proto__"})
	}
	return now
}

// loadingBackIgnored does not bind a session to the connection that created it, if another has it now.
func loadingBackIgnored(o *options) {
	creator := map[string]string{}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if how == agentselect.OnCreate {
			creator[session] = c.ID
		}
		if how == agentselect.OnLoad && creator[session] == c.ID && m.Owner(session) != c.ID {
			return agentselect.Binding{}
		}
		return correct.Bind(m, how, c, session)
	}
}

// failedLoadUnbinds clears the connection's session before it looks for the one to load.
func failedLoadUnbinds(o *options) {
	var mu sync.Mutex
	lost := map[any]bool{}
	on("/session/load", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		conn, answer := peek(r)["connectionId"], httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if answer.Code >= http.StatusBadRequest {
			mu.Lock()
			lost[conn] = true
			mu.Unlock()
		}
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})(o)
	o.Inbound = func(m manager, from connInfo, _ message) bool {
		mu.Lock()
		defer mu.Unlock()
		if lost[from.ID] {
			m.SetDefault(from.ID, "")
			delete(lost, from.ID)
		}
		return true
	}
}

// busyAfterLaterRequest keeps the answered requests of a session's second turn and later ones.
func busyAfterLaterRequest(o *options) {
	later, asked := map[string]bool{}, map[string]bool{}
	o.Policy.Configure = func(t agentselect.TurnView) config {
		later[t.Session] = t.Turn > 1
		return correct.Configure(t)
	}
	requests := of(proto.ConfirmationRequestEvent, proto.QuestionRequestEvent)
	o.Outbound = changed(requests, func(_ manager, _ *connInfo, ev *event) {
		if id := ev.Data["sessionId"].(string); later[id] {
			asked[id] = true
		}
	})
	o.Policy.Busy = orBusy(asked)
}

// anyAnswerFreesOldest takes each answer of a user for the oldest request of any connection.
func anyAnswerFreesOldest(o *options) {
	type request struct{ id, conn string }
	var mu sync.Mutex
	var open []request
	requests := of(proto.ConfirmationRequestEvent, proto.QuestionRequestEvent)
	o.Outbound = changed(requests, func(_ manager, to *connInfo, ev *event) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, request{ev.RequestID, to.ID})
	})
	o.Policy.OnDisconnect = func(_ manager, c connInfo) {
		mu.Lock()
		defer mu.Unlock()
		open = slices.DeleteFunc(open, func(r request) bool { return r.conn == c.ID })
	}
	on("/message", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body := peek(r)
		kind := body["type"]
		mu.Lock()
		if (kind == proto.ConfirmationResponse || kind == proto.QuestionResponse) && len(open) > 0 {
			body["requestId"], body["connectionId"], open = open[0].id, open[0].conn, open[1:]
			data, _ := json.Marshal(body)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		}
		mu.Unlock()
		next.ServeHTTP(w, r)
	})(o)
}
