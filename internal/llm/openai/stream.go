package openai

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"parley/internal/llm"
)

// MaxLine bounds one line and one event of an answer's event stream, in bytes. A piece of text is one line.
const MaxLine = 16 << 20

// chunk is one event of the stream, with the fields used here.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content *string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Error *fault `json:"error"`
}

// read emits the pieces of an event stream, up to its [DONE]. A stream that ends without one, but after a finish
// reason, is complete too: some servers leave it out.
func read(body io.Reader, emit func(llm.Part) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), MaxLine)
	var data []byte // of the event so far
	finished := false
	for lines.Scan() {
		line := lines.Bytes()
		if piece, isData := bytes.CutPrefix(line, []byte("data:")); isData {
			if len(data)+len(piece) > MaxLine {
				return fmt.Errorf("%w: an event is longer than %d bytes", ErrBroken, MaxLine)
			}
			data = append(append(data, piece...), '\n')
			continue
		}
		if len(line) > 0 || len(data) == 0 { // another field, a comment, or an event without data
			continue
		}
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			return nil
		}
		ends, err := emitEvent(data, emit)
		if err != nil {
			return err
		}
		finished = finished || ends
		data = data[:0]
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if finished || string(bytes.TrimSpace(data)) == "[DONE]" {
		return nil
	}
	return fmt.Errorf("%w before [DONE]", ErrBroken)
}

// emitEvent emits the text of one event, and reports whether it ends the answer.
func emitEvent(data []byte, emit func(llm.Part) error) (ends bool, err error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if c.Error != nil {
		return false, &llm.Failure{Status: http.StatusInternalServerError, Text: fmt.Sprintf("%.1000s", c.Error.Message)}
	}
	for _, choice := range c.Choices {
		if text := choice.Delta.Content; text != nil && *text != "" {
			if err := emit(llm.Part{Text: *text}); err != nil {
				return false, err
			}
		}
		ends = ends || choice.FinishReason != nil
	}
	return ends, nil
}
