// Package openai is a client of an OpenAI-style chat-completions API: the way by which a bundled server that runs as a
// process of its own asks the model stub, or any other model that speaks this API.
package openai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/model"
)

// MaxLine bounds one line of the answer's event stream, in bytes.
const MaxLine = 4 << 20

// ErrBroken tells that an answer ended before its end, or is no event stream of this API.
var ErrBroken = errors.New("the answer of the model broke off")

// Client asks one API. It is safe for concurrent use.
type Client struct {
	base, key string
	http      *http.Client
}

// New makes a client of the API below base, such as http://127.0.0.1:9/v1. An empty key sends none.
func New(base, key string) *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.IdleConnTimeout = 64, 30*time.Second
	return &Client{base: strings.TrimRight(base, "/"), key: key, http: &http.Client{Transport: t}}
}

type request struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chunk is one event of the stream, as far as it matters here.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content *string `json:"content"`
		} `json:"delta"`
	} `json:"choices"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Answer asks the model to continue the conversation and hands each piece of text to emit, one after the other, from this
// goroutine. Calls of tools are left out. It returns nil at the end of the answer, a *model.Failure where the API refuses
// or fails, the error of the context as soon as that has ended, the first error of emit, or an error that wraps ErrBroken.
func (c *Client) Answer(ctx context.Context, r model.Request, emit func(model.Part) error) error {
	resp, err := c.post(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		return &model.Failure{Status: resp.StatusCode, Text: strings.TrimSpace(string(said))}
	}
	err = read(resp.Body, emit)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (c *Client) post(ctx context.Context, r model.Request) (*http.Response, error) {
	body := request{Model: r.Model, Stream: true}
	if r.System != "" {
		body.Messages = append(body.Messages, message{"system", r.System})
	}
	for _, m := range r.Messages {
		body.Messages = append(body.Messages, message{m.Role, m.Text})
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request of the model: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/chat/completions", bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	return resp, nil
}

// read hands on the pieces of an event stream up to its [DONE].
func read(body io.Reader, emit func(model.Part) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 64<<10), MaxLine)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			return nil
		}
		var ch chunk
		if err := json.Unmarshal(data, &ch); err != nil {
			return fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if ch.Error != nil {
			return &model.Failure{Status: http.StatusInternalServerError, Text: ch.Error.Message}
		}
		for _, choice := range ch.Choices {
			if text := choice.Delta.Content; text != nil && *text != "" {
				if err := emit(model.Part{Text: *text}); err != nil {
					return err
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return fmt.Errorf("%w before [DONE]", ErrBroken)
}

// Close closes the connections that wait for another request.
func (c *Client) Close() { c.http.CloseIdleConnections() }
