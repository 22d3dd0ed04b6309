// Package recording keeps transcripts in files: JSON Lines, one record a line below a line that says what the file is.
// recording.schema.json describes each line. A recording is only appended to, a line at a time, so that what a killed
// process leaves behind is a recording whose last line may be torn.
package recording

import (
	_ "embed"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	"parley/transport/transcript"
)

// Version is the version of the format that Writer writes and Read reads. It grows when a reader of the version before
// would misunderstand a line; members may be added without.
const Version = 1

// MaxLine is the most bytes that a line may have; Read refuses a longer one.
const MaxLine = 64 << 20

//go:embed recording.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of a line. The caller owns the copy.
func Schema() []byte { return slices.Clone(schema) }

// Header is the first line of a recording: where its records come from. Empty members are left out.
type Header struct {
	Protocol string    // id of the protocol
	Role     string    // role of the target, for protocols with several; several are separated by commas
	Driver   string    // transport
	URL      string    // the target's, redacted
	Began    time.Time // when the times of the records begin to count, UTC
	By       string    // the program that wrote it, with its version
	Redacted bool      // secrets have been removed; NewWriter sets it if it has a redactor
}

// Roles returns the roles: several in Role are separated by commas.
func (h Header) Roles() []string {
	return strings.FieldsFunc(h.Role, func(c rune) bool { return c == ',' || c == ' ' })
}

// FirstRole returns the first of Roles; "" if there is none.
func (h Header) FirstRole() string {
	if all := h.Roles(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// line is any line as written: the first one has Parley, all others N.
type line struct {
	Parley   string `json:"parley,omitempty"`
	Version  int    `json:"version,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Role     string `json:"role,omitempty"`
	Driver   string `json:"driver,omitempty"`
	URL      string `json:"url,omitempty"`
	Began    string `json:"began,omitempty"`
	By       string `json:"by,omitempty"`
	Redacted bool   `json:"redacted,omitempty"`

	N       int     `json:"n,omitempty"`
	AtMS    *millis `json:"at_ms,omitempty"`
	Party   string  `json:"party,omitempty"`
	Dir     string  `json:"dir,omitempty"`
	Kind    string  `json:"kind,omitempty"`
	Label   string  `json:"label,omitempty"`
	Status  int     `json:"status,omitempty"`
	Type    string  `json:"type,omitempty"`
	ID      string  `json:"id,omitempty"`
	Trace   string  `json:"traceparent,omitempty"`
	Headers string  `json:"headers,omitempty"`
	Text    *string `json:"text,omitempty"`
	Base64  *string `json:"base64,omitempty"`
	Cut     int     `json:"cut,omitempty"`
	To      int     `json:"to,omitempty"`
	Flushed bool    `json:"flushed,omitempty"`
	Late    bool    `json:"late,omitempty"`
	Event   string  `json:"event,omitempty"`
}

// millis are milliseconds with three decimals.
type millis time.Duration

// MarshalJSON implements json.Marshaler.
func (m millis) MarshalJSON() ([]byte, error) {
	return m.append(nil), nil
}

// Writer appends records to a recording. Safe for concurrent use: each line is one Write.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	redact *transcript.Redactor
	buf    []byte // of the latest line
	err    error
}

// NewWriter writes the first line to w. redact removes secrets from all that is written; nil removes none.
func NewWriter(w io.Writer, h Header, redact *transcript.Redactor) (*Writer, error) {
	h.Redacted = h.Redacted || redact != nil
	if redact == nil {
		redact = transcript.NewRedactor()
	}
	to := &Writer{w: w, redact: redact}
	first := line{Parley: "recording", Version: Version, Protocol: h.Protocol, Role: h.Role, Driver: h.Driver,
		URL: redact.String(transcript.MaskURLs(h.URL)), By: h.By, Redacted: h.Redacted}
	if !h.Began.IsZero() {
		first.Began = h.Began.UTC().Format(time.RFC3339Nano)
	}
	return to, to.writeLine(first)
}

// Add appends records in their order. After a failed write it does nothing but return that error.
func (w *Writer) Add(records ...transcript.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range records {
		if w.err != nil {
			return w.err
		}
		w.buf = appendRecord(slices.Grow(w.buf[:0], len(records[i].Bytes)), &records[i], w.redact)
		_, w.err = w.w.Write(w.buf)
		if cap(w.buf) > mostKept {
			w.buf = nil
		}
	}
	return w.err
}

// mostKept is the largest buffer, in bytes, that a Writer keeps for its next line.
const mostKept = 256 << 10

func (w *Writer) writeLine(l line) error {
	b, err := json.Marshal(l, jsonform.Escaped)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if err == nil {
		_, err = w.w.Write(append(b, '\n'))
	}
	w.err = err
	return err
}
