package mutants

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	proto "parley/protocol/agentselect"
)

// webFaults are about HTTP alone.
var webFaults = map[string]fault{
	"events-as-json":          wrapping(func(next http.Handler) http.Handler { return typed(next, "application/json") }),
	"events-as-plain-text":    wrapping(func(next http.Handler) http.Handler { return typed(next, "text/plain; charset=utf-8") }),
	"events-as-ndjson":        wrapping(func(next http.Handler) http.Handler { return typed(next, "application/x-ndjson") }),
	"events-with-status-201":  wrapping(created),
	"events-by-post-only":     at("GET /events", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }),
	"events-elsewhere":        at("GET /events", http.NotFound),
	"create-elsewhere":        at("POST /session/create", http.NotFound),
	"create-fails":            at("POST /session/create", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) }),
	"create-without-id":       at("POST /session/create", succeed),
	"load-elsewhere":          at("POST /session/load", http.NotFound),
	"load-succeeds-always":    wrapping(loadSucceeds),
	"load-fails":              at("POST /session/load", fail),
	"load-needs-owner":        wrapping(loadNeedsOwner),
	"initial-agent-ignored":   wrapping(ignoresInitialAgent),
	"deleted-sessions-live":   wrapping(deletesNothing),
	"message-elsewhere":       at("POST /message", http.NotFound),
	"switch-wants-session-id": wrapping(wantsSessionID),
}

func wrapping(m middleware) fault { return func(*options) middleware { return m } }

// at takes over one route.
func at(route string, f http.HandlerFunc) fault {
	return wrapping(func(next http.Handler) http.Handler {
		method, path, _ := strings.Cut(route, " ")
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == method && r.URL.Path == path {
				f(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
}

// head changes what is about to be sent before the body of an answer.
type head struct {
	http.ResponseWriter
	write func(h http.Header, status int) int
}

func (h head) WriteHeader(status int)      { h.ResponseWriter.WriteHeader(h.write(h.Header(), status)) }
func (h head) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func onEvents(next http.Handler, write func(h http.Header, status int) int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w = head{w, write}
		}
		next.ServeHTTP(w, r)
	})
}

func typed(next http.Handler, contentType string) http.Handler {
	return onEvents(next, func(h http.Header, status int) int {
		h.Set("Content-Type", contentType)
		return status
	})
}

func created(next http.Handler) http.Handler {
	return onEvents(next, func(http.Header, int) int { return http.StatusCreated })
}

func succeed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"success":true}`)
}

func fail(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"success":false,"error":"no such session"}`)
}

// peek reads the JSON body of a request, and puts it back.
func peek(r *http.Request) map[string]any {
	data, _ := io.ReadAll(io.LimitReader(r.Body, 2<<20)) // beyond the limit of the server, which refuses it
	r.Body = io.NopCloser(bytes.NewReader(data))
	var body map[string]any
	_ = json.Unmarshal(data, &body)
	return body
}

func replace(r *http.Request, body map[string]any) {
	data, _ := json.Marshal(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
}

// deletesNothing takes a session from the list that it shows, and keeps it.
func deletesNothing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && strings.HasPrefix(r.URL.Path, "/session/") {
			succeed(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loadSucceeds answers that it has loaded what does not exist.
func loadSucceeds(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/session/load" {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if answer.Code >= 400 {
			succeed(w, r)
			return
		}
		copyTo(w, answer)
	})
}

// copyTo sends an answer that has been recorded.
func copyTo(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// loadNeedsOwner loads a session only on the connection that has created it.
func loadNeedsOwner(next http.Handler) http.Handler {
	var mu sync.Mutex
	owner := map[any]any{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/session/create":
			body, answer := peek(r), httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			var created struct {
				Session struct {
					ID string `json:"id"`
				} `json:"session"`
			}
			_ = json.Unmarshal(answer.Body.Bytes(), &created)
			mu.Lock()
			owner[created.Session.ID] = body["connectionId"]
			mu.Unlock()
			copyTo(w, answer)
		case "/session/load":
			body := peek(r)
			id, _ := body["sessionId"].(string)
			mu.Lock()
			own := owner[id] == body["connectionId"]
			mu.Unlock()
			if !own {
				fail(w, r)
				return
			}
			next.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func ignoresInitialAgent(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/session/create" {
			body := peek(r)
			delete(body, "initialAgentId")
			replace(r, body)
		}
		next.ServeHTTP(w, r)
	})
}

// wantsSessionID refuses a switch that names no session, as older clients of other messages would expect.
func wantsSessionID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/message" {
			body := peek(r)
			if _, named := body["sessionId"]; body["type"] == proto.SwitchAgentType && !named {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// failingOn answers switches by 500 where the id is of some kind.
func failingOn(where func(raw any) bool) fault {
	return wrapping(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/message" {
				body := peek(r)
				if body["type"] == proto.SwitchAgentType && where(body["agentId"]) {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	})
}

// byStatus refuses by an HTTP status instead of an event.
func byStatus(status int, codes ...string) fault {
	return func(o *options) middleware {
		var mu sync.Mutex
		refused := map[any]bool{}
		o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
			if isRefusal(ev, codes...) {
				mu.Lock()
				refused[to.ID] = true
				mu.Unlock()
				return
			}
			send(to.ID, ev)
		}
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/message" {
					next.ServeHTTP(w, r)
					return
				}
				conn, answer := peek(r)["connectionId"], httptest.NewRecorder()
				next.ServeHTTP(answer, r)
				mu.Lock()
				was := refused[conn]
				delete(refused, conn)
				mu.Unlock()
				if was {
					w.WriteHeader(status)
					return
				}
				copyTo(w, answer)
			})
		}
	}
}
