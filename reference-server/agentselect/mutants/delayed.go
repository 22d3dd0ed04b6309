package mutants

import (
	"net/http"
	"net/http/httptest"
	"sync"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// Delayed returns a server that is correct except for its timing: it answers each client message with the answer to
// the previous one on the same connection, and the first with only an HTTP success. It answers connecting, and
// creating and loading sessions, at once.
func Delayed(o agentselect.Options) (Server, error) { return build(delayed, o) }

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
