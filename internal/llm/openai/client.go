// Package openai is a client of an OpenAI-style chat-completions API. A bundled server that runs as its own process
// uses it to ask the model stub, or any other model with this API.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/httpclient"
	"parley/internal/llm"
)

// ErrBroken says that an answer ended prematurely, or is not an event stream of this API.
var ErrBroken = errors.New("the answer of the model broke off")

// Client asks one API. It is safe for concurrent use, and serves as a backend of a bundled server.
type Client struct {
	base, key string
	http      *http.Client
}

// New returns a client of the API below base, such as http://127.0.0.1:9/v1. An empty key is not sent.
func New(base, key string) *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.IdleConnTimeout = 64, 30*time.Second
	// The conversation and the key are only for the named server, so redirects are not followed.
	return &Client{base: strings.TrimRight(base, "/"), key: key, http: httpclient.New(t)}
}

// Close closes idle connections. The client remains usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

type request struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Answer asks the model to continue the conversation, always as a stream, and passes each piece of text to emit,
// sequentially from this goroutine. Tools and tool calls are left out in both directions.
//
// It returns nil at the end of the answer, a *llm.Failure if the API refuses or fails (with status 500 for a failure
// within the stream), the context's error as soon as that ends, the first error of emit, or an error that wraps
// ErrBroken. The only time limit is the context's.
func (c *Client) Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error {
	res, err := c.post(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return failureReason(res)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		return fmt.Errorf("%w: its content type is %.100q, not text/event-stream", ErrBroken, res.Header.Get("Content-Type"))
	}
	err = read(res.Body, emit)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (c *Client) post(ctx context.Context, r llm.Request) (*http.Response, error) {
	body := request{Model: r.Model, Stream: true, Messages: []message{}}
	if r.System != "" {
		body.Messages = append(body.Messages, message{"system", r.System})
	}
	for _, m := range r.Messages {
		body.Messages = append(body.Messages, message{m.Role, m.Text})
	}
	// A conversation may contain text that a model cut within a character.
	data, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode the request of the model: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/chat/completions", bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = res.Body.Close()
		}
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	return res, nil
}

// fault is the body of an error response, or of an error event.
type fault struct {
	Message string `json:"message"`
}

// failureReason reads the API's reason for refusing.
func failureReason(res *http.Response) error {
	const most, shown = 64 << 10, 1000
	data, _ := io.ReadAll(io.LimitReader(res.Body, most)) // a partial body is better than none
	text := string(data)
	var body struct {
		Error fault `json:"error"`
	}
	if json.Unmarshal(data, &body) == nil && body.Error.Message != "" {
		text = body.Error.Message
	}
	if text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd")); text == "" {
		text = res.Status
	}
	return &llm.Failure{Status: res.StatusCode, Text: fmt.Sprintf("%.*s", shown, text)}
}
