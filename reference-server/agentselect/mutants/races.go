package mutants

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/llm"
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// raceFaults fail when two things happen at once, or one happens late.
var raceFaults = map[string]fault{
	"late-end-clears-busy":      lateEnd,
	"second-chat-clears-busy":   secondChat(manager.Running),
	"second-chat-clears-asking": secondChat(func(m manager, session string) bool { return len(m.Pending(session)) > 0 }),
	"previous-read-on-arrival":  previousOnArrival,
	"chats-run-elsewhere":       chatsElsewhere,
	"chats-run-together":        chatsTogether,
}

// lateEnd ends an aborted turn only when its model has answered, and then clears the state of whatever runs by then.
func lateEnd(o *options) {
	var mu sync.Mutex
	said, cleared := map[string]string{}, map[string]bool{}
	brain := o.Brain
	o.Inbound = func(m manager, from connInfo, msg message) bool {
		session := correct.Target(m, from, msg)
		mu.Lock()
		defer mu.Unlock()
		switch msg["type"] {
		case proto.ChatType:
			said[session], _ = msg["content"].(string)
			delete(cleared, session)
		case proto.AbortType:
			if m.Running(session) && brain != nil {
				go hearOut(brain, said[session], func() {
					mu.Lock()
					defer mu.Unlock()
					cleared[session] = true
				})
			}
		}
		return true
	}
	o.Policy.Busy = func(m manager, session string) bool {
		mu.Lock()
		defer mu.Unlock()
		return !cleared[session] && correct.Busy(m, session)
	}
}

// chatsTogether appends what a session says while another one has a turn running to that one's last message.
func chatsTogether(o *options) {
	said := map[string]string{}
	o.Inbound = func(m manager, from connInfo, msg message) bool {
		text, _ := msg["content"].(string)
		if msg["type"] != proto.ChatType || text == "" {
			return true
		}
		session := correct.Target(m, from, msg)
		for _, other := range m.Sessions() {
			if other != session && m.Running(other) && said[other] != "" {
				msg["content"] = strings.NewReplacer("[[", "(", "]]", ")").Replace(said[other]) + "\n" + text
				break
			}
		}
		said[session] = text
		return true
	}
}

// hearOut waits for the unwanted answer.
func hearOut(brain *llm.Brain, text string, then func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request := llm.Request{API: llm.APIInProcess, Messages: []llm.Message{{Role: llm.RoleUser, Text: text}}}
	if brain.Answer(ctx, request, func(llm.Part) error { return nil }) == nil {
		then()
	}
}

// secondChat refuses a message while the session is busy, as it should, but marks the session as idle.
func secondChat(while func(m manager, session string) bool) fault {
	return func(o *options) {
		cleared := map[string]bool{}
		o.Inbound = func(m manager, from connInfo, msg message) bool {
			if msg["type"] == proto.ChatType {
				session := correct.Target(m, from, msg)
				cleared[session] = while(m, session)
			}
			return true
		}
		o.Policy.Busy = func(m manager, session string) bool { return !cleared[session] && correct.Busy(m, session) }
	}
}

// previousOnArrival records the current agent when a switch arrives, and executes the switch only after a pause in
// which other switches may intervene.
func previousOnArrival(o *options) {
	const meeting = 500 * time.Millisecond // how long the first of two switches waits for the second
	var mu sync.Mutex
	current, noted := map[string]any{}, map[[2]any]any{} // keyed by connection; by connection and agent
	waiting := map[string]chan struct{}{}
	o.Outbound = changed(confirms, func(_ manager, to *connInfo, ev *event) {
		mu.Lock()
		defer mu.Unlock()
		key := [2]any{to.ID, ev.Data[currentKey]}
		if previous := noted[key]; previous != nil {
			ev.Data = ev.Data.With(previousKey, previous)
		}
		delete(noted, key)
		current[to.ID] = ev.Data[currentKey]
	})
	arrive := func(conn string, agent any) (met <-chan struct{}) {
		mu.Lock()
		defer mu.Unlock()
		noted[[2]any{conn, agent}] = current[conn]
		if other := waiting[conn]; other != nil {
			close(other)
			delete(waiting, conn)
			return other
		}
		waiting[conn] = make(chan struct{})
		return waiting[conn]
	}
	leave := func(conn string, met <-chan struct{}) {
		mu.Lock()
		defer mu.Unlock()
		if waiting[conn] == met {
			delete(waiting, conn)
		}
	}
	on("/message", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if msg := peek(r); msg["type"] == proto.SwitchAgentType {
			conn, _ := msg["connectionId"].(string)
			agent, _ := msg["agentId"].(string)
			met := arrive(conn, agent)
			select {
			case <-met:
			case <-time.After(meeting):
				leave(conn, met)
			case <-r.Context().Done():
			}
		}
		next.ServeHTTP(w, r)
	})(o)
}

// chatsElsewhere starts a separate session for every message of a session but the first.
func chatsElsewhere(o *options) {
	chats := map[string]int{}
	o.Inbound = func(m manager, from connInfo, msg message) bool {
		if msg["type"] == proto.ChatType {
			session := correct.Target(m, from, msg)
			if chats[session]++; session != "" && chats[session] > 1 {
				msg["sessionId"] = m.NewSession(from)
			}
		}
		return true
	}
}

// Delayed returns a server that is correct except for its timing: it answers each client message with the answer to
// the previous one on the same connection, and the first with only an HTTP success. It answers connecting, and
// creating and loading sessions, at once.
func Delayed(o agentselect.Options) (Server, error) {
	return build(func(own *options) error { delayed(own); return nil }, o)
}

func delayed(o *options) {
	due := map[string][]func(){} // connection → reply to its latest message
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		unbound := ev.Type == proto.ErrorEvent && ev.RequestID != "" // a session could not be created or loaded
		if atOnce(ev) || unbound {
			send(to.ID, ev)
			return
		}
		due[to.ID] = append(due[to.ID], func() { send(to.ID, ev) })
	}
	o.Inbound = func(_ manager, from connInfo, _ message) bool {
		late := due[from.ID]
		delete(due, from.ID)
		for _, send := range late {
			send()
		}
		return true
	}
	on("/message", answeredLate())(o)
}

// answeredLate delays the HTTP responses like the events.
func answeredLate() serve {
	var mu sync.Mutex
	latest := map[any]*httptest.ResponseRecorder{}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		conn, _ := peek(r)["connectionId"].(string)
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		mu.Lock()
		late := latest[conn]
		latest[conn] = answer
		mu.Unlock()
		if late == nil {
			succeed(w, r)
			return
		}
		copyTo(w, late)
	}
}

// cutFaults show only if a connection ends at a certain point of a session, and the client then reconnects.
var cutFaults = map[string]fault{
	"end-after-a-refusal-unbinds":        endAfterRefusalUnbinds,
	"end-in-a-turn-stays-busy":           endInTurnStaysBusy,
	"end-after-two-switches-freezes":     endAfterSwitchesFreezes,
	"end-after-an-abort-unbinds-another": endAfterAbortTakesOthers,
}

// endAfterRefusalUnbinds never again binds a session whose connection ended after a refused switch.
func endAfterRefusalUnbinds(o *options) {
	refused, lost := map[string]bool{}, map[string]bool{}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		correct.Commit(sw, set)
		refused[sw.Conn] = sw.Refusal != nil && sw.Refusal.Code == proto.AgentNotFound
	}
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		if id := m.DefaultSession(c.ID); refused[c.ID] && id != "" {
			lost[id] = true
		}
	}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, id string) agentselect.Binding {
		b := correct.Bind(m, how, c, id)
		b.Default = b.Default && !lost[id]
		return b
	}
}

// endInTurnStaysBusy treats a session whose connection ended during a turn as busy forever.
func endInTurnStaysBusy(o *options) {
	stuck := map[string]bool{}
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		if id := m.DefaultSession(c.ID); id != "" && m.Running(id) {
			stuck[id] = true
		}
	}
	o.Policy.Busy = func(m manager, session string) bool { return stuck[session] || correct.Busy(m, session) }
}

// endAfterSwitchesFreezes announces the switches of a session but does not make them, if its connection ended after the
// second switch.
func endAfterSwitchesFreezes(o *options) {
	made, frozen := map[string]int{}, map[string]bool{}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		if frozen[sw.Session] {
			return
		}
		correct.Commit(sw, set)
		if sw.Refusal == nil {
			made[sw.Session]++
		}
	}
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		if id := m.DefaultSession(c.ID); id != "" && made[id] == 2 {
			frozen[id] = true
		}
	}
}

// endAfterAbortTakesOthers unbinds the newest other connection when one ends whose last message was an abort.
func endAfterAbortTakesOthers(o *options) {
	last := map[string]any{}
	o.Inbound = func(_ manager, from connInfo, msg message) bool {
		last[from.ID] = msg["type"]
		return true
	}
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		if last[c.ID] != proto.AbortType {
			return
		}
		for _, other := range slices.Backward(m.Connections()) {
			if other.ID != c.ID && m.DefaultSession(other.ID) != "" {
				m.SetDefault(other.ID, "")
				return
			}
		}
	}
}
