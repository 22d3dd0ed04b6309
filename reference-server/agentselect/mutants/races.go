package mutants

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/internal/llm"
	proto "parley/protocol/agentselect"
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
