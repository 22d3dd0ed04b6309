// Package stub is the HTTP model stub: a small server that puts an llm.Brain behind the APIs that agents use for their
// models. Package llm documents the directives in the user's text.
//
//	POST /v1/chat/completions       OpenAI chat completions, streaming or not
//	POST /v1/responses              OpenAI responses, streaming or not
//	POST /v1/messages               Anthropic messages, streaming or not
//	POST /v1/messages/count_tokens  Anthropic token counting; not a model call, so not recorded
//	GET  /v1/models, /v1/models/{id}  OpenAI and Anthropic fields side by side; every id is valid
//
// The OpenAI paths and the model lists are also served without /v1. Any key is accepted, and headers are never
// recorded.
//
// A streamed answer starts with the brain's first output, so a failure before that has its HTTP status, and a later one
// is an error event of the API. Every event is flushed at once. An answer that is cut off, because the client has
// disconnected or the server closes, ends with a broken connection: it never looks complete.
//
// A body of more than MaxBody bytes gets 413, one that the API would reject gets 400, each in the API's error shape.
// Roles, models and messages are checked; fields, content parts and items that the brain does not use are ignored, and
// so are limits such as max_tokens. The server keeps no conversations: a previous_response_id gets 400.
//
// Token counts are estimates, four bytes each.
package stub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
)

// headerTimeout bounds the time for a client to send a request's header.
const headerTimeout = 10 * time.Second

// Server serves a brain on loopback until it is closed.
type Server struct {
	url    string
	http   http.Server
	cancel context.CancelFunc // ends the contexts of the requests
	served chan struct{}      // closed when connections are no longer accepted
	load   load
}

// Start serves a brain on a free port of 127.0.0.1. The caller closes the server.
func Start(b *llm.Brain) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start model stub: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		url:    "http://" + l.Addr().String(),
		cancel: cancel,
		served: make(chan struct{}),
		load:   load{idle: make(chan struct{})},
	}
	s.http.Handler = s.load.countRequest(Handler(b))
	s.http.ReadHeaderTimeout = headerTimeout
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // ends by Close
	}()
	return s, nil
}

// URL returns the address of the server, http://127.0.0.1:PORT. Anthropic clients use it unchanged, OpenAI clients
// append "/v1".
func (s *Server) URL() string { return s.url }

// Close stops the server and all its requests, including held ones, and waits for their handlers until the context
// ends. It may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.cancel()
	idle := s.load.rejectFurther()
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("close model stub: %w", err)
	}
	for _, done := range []<-chan struct{}{s.served, idle} {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("close model stub: %w", ctx.Err())
		}
	}
	return nil
}

// load counts the requests in progress. http.Server.Shutdown would wait for them too, but also up to five seconds for
// connections on which a client has not sent anything yet.
type load struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when closed is set and n is 0
}

func (l *load) countRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.enterRequest() {
			panic(http.ErrAbortHandler)
		}
		defer l.leaveRequest()
		next.ServeHTTP(w, r)
	})
}

func (l *load) enterRequest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.n++
	return true
}

func (l *load) leaveRequest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.closed && l.n == 0 {
		close(l.idle)
	}
}

// rejectFurther rejects further requests, and returns a channel that closes when the last one has finished.
func (l *load) rejectFurther() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && l.n == 0 {
		close(l.idle)
	}
	l.closed = true
	return l.idle
}

// MaxBody is the size of the largest body that is accepted, in bytes.
const MaxBody = 8 << 20

// Handler serves the APIs of a brain, for use in the caller's own server. Requests end with their contexts.
func Handler(b *llm.Brain) http.Handler {
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/v1"} {
		mux.Handle("POST "+prefix+"/chat/completions", answerHandler(b, chatAPI))
		mux.Handle("POST "+prefix+"/responses", answerHandler(b, responsesAPI))
		mux.HandleFunc("GET "+prefix+"/models", listModels)
		mux.HandleFunc("GET "+prefix+"/models/{id...}", showModel)
	}
	mux.Handle("POST /v1/messages", answerHandler(b, messagesAPI))
	mux.HandleFunc("POST /v1/messages/count_tokens", countTokens)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeFault(w, openAIFault, http.StatusNotFound, fmt.Sprintf("unknown request: %s %s", r.Method, r.URL.Path))
	})
	return mux
}

// api describes one API.
type api struct {
	decode func(body []byte) (exchange, error)
	fault  fault
}

// fault returns the error body of an API.
type fault func(status int, text string) any

// exchange is one decoded request, and the two ways of writing its answer.
type exchange struct {
	request llm.Request
	stream  func(*events) stream
	whole   func(*answer) any // the body
}

// stream writes an answer in pieces. begin comes first, end or fail last.
type stream interface {
	begin() error
	writePart(llm.Part) error
	end() error
	fail(*llm.Failure) error
}

func answerHandler(b *llm.Brain, a api) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, ok := readRequest(w, r, a)
		if !ok {
			return
		}
		var err error
		if x.request.Stream {
			err = answerStream(b, w, r, x)
		} else {
			err = answerWhole(b, w, r, x)
		}
		if failure, ok := errors.AsType[*llm.Failure](err); ok {
			writeFault(w, a.fault, failure.Status, failure.Text)
		} else if err != nil {
			panic(http.ErrAbortHandler) // the client sees a broken answer, not a short one
		}
	})
}

// answerStream returns a *llm.Failure only if nothing has been written.
func answerStream(b *llm.Brain, w http.ResponseWriter, r *http.Request, x exchange) error {
	e := newEvents(w)
	s := x.stream(e)
	err := b.Answer(r.Context(), x.request, func(p llm.Part) error {
		if !e.begun {
			if err := s.begin(); err != nil {
				return err
			}
		}
		return s.writePart(p)
	})
	failure, failed := errors.AsType[*llm.Failure](err)
	switch {
	case failed && e.begun:
		return s.fail(failure)
	case err != nil:
		return err
	case !e.begun: // an answer without parts
		if err := s.begin(); err != nil {
			return err
		}
	}
	return s.end()
}

func answerWhole(b *llm.Brain, w http.ResponseWriter, r *http.Request, x exchange) error {
	var whole answer
	err := b.Answer(r.Context(), x.request, func(p llm.Part) error {
		whole.addPart(p)
		return nil
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, x.whole(&whole))
	return nil
}

// readRequest decodes a request. On failure it writes the error and returns false.
func readRequest(w http.ResponseWriter, r *http.Request, a api) (exchange, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		writeFault(w, a.fault, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body exceeds %d bytes", MaxBody))
		return exchange{}, false
	}
	if err != nil {
		writeFault(w, a.fault, http.StatusBadRequest, "read body: "+err.Error())
		return exchange{}, false
	}
	x, err := a.decode(body)
	if err != nil {
		writeFault(w, a.fault, http.StatusBadRequest, "invalid body: "+err.Error())
		return exchange{}, false
	}
	return x, true
}

func writeFault(w http.ResponseWriter, f fault, status int, text string) {
	writeJSON(w, status, f(status, text))
}

// writeJSON writes a whole answer. A client that has disconnected is not an error.
func writeJSON(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Errorf("marshal %T: %w", body, err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

type openAIError struct {
	Error openAIErrorDetail `json:"error"`
}

type openAIErrorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func openAIFault(status int, text string) any {
	return openAIError{openAIErrorDetail{Message: text, Type: openAIErrorType(status)}}
}

func openAIErrorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

type anthropicError struct {
	Type      string               `json:"type"`
	Error     anthropicErrorDetail `json:"error"`
	RequestID string               `json:"request_id"`
}

type anthropicErrorDetail struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func anthropicFault(status int, text string) any {
	return anthropicError{"error", anthropicErrorDetail{anthropicErrorType(status), text}, newID("req_")}
}

func anthropicErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// ModelID is the first model in the list. Requests may name any other.
const ModelID = "parley-stub"

// modelIDs are the listed models: two, so that a client can change its model.
var modelIDs = []string{ModelID, ModelID + "-2"}

// modelInfo has the fields of OpenAI and those of Anthropic.
type modelInfo struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Type        string `json:"type"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

type modelList struct {
	Object  string      `json:"object"`
	Data    []modelInfo `json:"data"`
	HasMore bool        `json:"has_more"`
	FirstID string      `json:"first_id"`
	LastID  string      `json:"last_id"`
}

func newModelInfo(id string) modelInfo {
	return modelInfo{
		ID: id, Object: "model", Created: 1767225600, OwnedBy: "parley",
		Type: "model", DisplayName: id, CreatedAt: "2026-01-01T00:00:00Z",
	}
}

func listModels(w http.ResponseWriter, _ *http.Request) {
	l := modelList{Object: "list", FirstID: modelIDs[0], LastID: modelIDs[len(modelIDs)-1]}
	for _, id := range modelIDs {
		l.Data = append(l.Data, newModelInfo(id))
	}
	writeJSON(w, http.StatusOK, l)
}

func showModel(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, newModelInfo(r.PathValue("id")))
}

type tokenCount struct {
	InputTokens int `json:"input_tokens"`
}

func countTokens(w http.ResponseWriter, r *http.Request) {
	if x, ok := readRequest(w, r, messagesAPI); ok {
		writeJSON(w, http.StatusOK, tokenCount{inputTokens(x.request)})
	}
}
