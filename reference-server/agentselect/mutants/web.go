package mutants

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	proto "parley/protocol/agentselect"
)

// webFaults concern only HTTP.
var webFaults = map[string]fault{
	"events-as-json":           eventsWith(http.StatusOK, "application/json"),
	"events-as-plain-text":     eventsWith(http.StatusOK, "text/plain; charset=utf-8"),
	"events-as-ndjson":         eventsWith(http.StatusOK, "application/x-ndjson"),
	"events-with-status-201":   eventsWith(http.StatusCreated, "text/event-stream"),
	"events-by-post-only":      at("GET /events", status(http.StatusMethodNotAllowed)),
	"events-elsewhere":         at("GET /events", http.NotFound),
	"create-elsewhere":         at("POST /session/create", http.NotFound),
	"create-fails":             at("POST /session/create", status(http.StatusInternalServerError)),
	"create-without-id":        at("POST /session/create", succeed),
	"load-elsewhere":           at("POST /session/load", http.NotFound),
	"load-succeeds-always":     on("/session/load", loadSucceeds),
	"load-fails":               at("POST /session/load", fail),
	"load-needs-owner":         loadNeedsOwner,
	"create-gives-one-session": createGivesOne,
	"initial-agent-ignored":    on("/session/create", ignoresInitialAgent),
	"deleted-sessions-live":    wrapping(deletesNothing),
	"message-elsewhere":        at("POST /message", http.NotFound),
	"switch-wants-session-id":  refusedOver(http.StatusBadRequest, namesNoSession),
}

// serve handles a request; next is the correct handler.
type serve func(w http.ResponseWriter, r *http.Request, next http.Handler)

func wrapping(f serve) fault {
	return func(o *options) {
		o.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(w, r, next) })
		}
	}
}

// on intercepts one path.
func on(path string, f serve) fault {
	return wrapping(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Path == path {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// at handles one route.
func at(route string, f http.HandlerFunc) fault {
	method, path, _ := strings.Cut(route, " ")
	return on(path, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == method {
			f(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// head changes the response before its body is sent.
type head struct {
	http.ResponseWriter
	status      int
	contentType string
}

func (h head) WriteHeader(int) {
	h.Header().Set("Content-Type", h.contentType)
	h.ResponseWriter.WriteHeader(h.status)
}

func (h head) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func eventsWith(status int, contentType string) fault {
	return on("/events", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(head{w, status, contentType}, r)
	})
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

// peek reads the JSON body of a request and restores it.
func peek(r *http.Request) map[string]any {
	data, _ := io.ReadAll(io.LimitReader(r.Body, 2<<20)) // beyond the server's own limit
	r.Body = io.NopCloser(bytes.NewReader(data))
	var body map[string]any
	_ = json.Unmarshal(data, &body)
	return body
}

// deletesNothing confirms the deletion of a session without deleting it.
func deletesNothing(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method == http.MethodDelete && strings.HasPrefix(r.URL.Path, "/session/") {
		succeed(w, r)
		return
	}
	next.ServeHTTP(w, r)
}

// loadSucceeds confirms loading sessions that do not exist.
func loadSucceeds(w http.ResponseWriter, r *http.Request, next http.Handler) {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	if answer.Code >= 400 {
		succeed(w, r)
		return
	}
	copyTo(w, answer)
}

// copyTo sends a recorded response.
func copyTo(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// loadNeedsOwner loads a session only on the connection that created it.
func loadNeedsOwner(o *options) {
	var mu sync.Mutex
	owner := map[any]any{}
	wrapping(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
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
	})(o)
}

func ignoresInitialAgent(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body := peek(r)
	delete(body, "initialAgentId")
	data, _ := json.Marshal(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	next.ServeHTTP(w, r)
}

// namesNoSession reports whether a message has no sessionId.
func namesNoSession(msg map[string]any) bool {
	_, named := msg["sessionId"]
	return !named
}

// refusedOver answers some switches with only an HTTP status.
func refusedOver(status int, where func(msg map[string]any) bool) fault {
	return on("/message", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if body := peek(r); body["type"] == proto.SwitchAgentType && where(body) {
			w.WriteHeader(status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// failingOn answers switches to some ids with 500.
func failingOn(where func(raw any) bool) fault {
	return refusedOver(http.StatusInternalServerError, func(msg map[string]any) bool { return where(msg["agentId"]) })
}

// byStatus refuses with an HTTP status instead of an event.
func byStatus(status int, codes ...string) fault {
	return func(o *options) {
		var mu sync.Mutex
		refused := map[any]bool{}
		o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
			if refuses(codes...)(ev) {
				mu.Lock()
				refused[to.ID] = true
				mu.Unlock()
				return
			}
			send(to.ID, ev)
		}
		on("/message", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
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
		})(o)
	}
}

// createGivesOne answers requests for a new session with the session that was created last, if there is still one.
func createGivesOne(o *options) {
	var mu sync.Mutex
	last := ""
	on("/session/create", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		ask := func(path string, body []byte) *httptest.ResponseRecorder {
			rec, again := httptest.NewRecorder(), r.Clone(r.Context())
			again.URL.Path, again.Body, again.ContentLength = path, io.NopCloser(bytes.NewReader(body)), int64(len(body))
			next.ServeHTTP(rec, again)
			return rec
		}
		var msg message
		if last != "" && json.Unmarshal(body, &msg) == nil {
			msg["sessionId"] = last
			if changed, err := json.Marshal(msg); err == nil {
				if rec := ask("/session/load", changed); rec.Code == http.StatusOK {
					replay(w, rec)
					return
				}
			}
		}
		rec := ask("/session/create", body)
		var made struct {
			Session struct {
				ID string `json:"id"`
			} `json:"session"`
		}
		_ = json.Unmarshal(rec.Body.Bytes(), &made)
		last = made.Session.ID
		replay(w, rec)
	})(o)
}

func replay(w http.ResponseWriter, rec *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}
