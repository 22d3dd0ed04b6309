package stub

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
)

// MaxBody is the size of the largest body that is accepted, in bytes.
const MaxBody = 8 << 20

// Handler serves the APIs of a brain, for use in the caller's own server. Requests end with their contexts.
func Handler(b *llm.Brain) http.Handler {
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/v1"} {
		mux.Handle("POST "+prefix+"/chat/completions", answering(b, chatAPI))
		mux.Handle("POST "+prefix+"/responses", answering(b, responsesAPI))
		mux.HandleFunc("GET "+prefix+"/models", listModels)
		mux.HandleFunc("GET "+prefix+"/models/{id...}", showModel)
	}
	mux.Handle("POST /v1/messages", answering(b, messagesAPI))
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
	part(llm.Part) error
	end() error
	fail(*llm.Failure) error
}

func answering(b *llm.Brain, a api) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, ok := read(w, r, a)
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
		return s.part(p)
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
		whole.add(p)
		return nil
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, x.whole(&whole))
	return nil
}

// read decodes a request. On failure it writes the error and returns false.
func read(w http.ResponseWriter, r *http.Request, a api) (exchange, bool) {
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
