// Package recording keeps transcripts in files: JSON Lines, one record a line below a line that says what the file is.
// recording.schema.json describes each line. A recording is only appended to, a line at a time, so that what a killed
// process leaves behind is a recording whose last line may be torn.
package recording

import (
	"bufio"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"parley/transcript"
	wjson "parley/wire/json"
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
	Role     string    // role of the target, for protocols with several
	Driver   string    // transport
	URL      string    // the target's, redacted
	Began    time.Time // when the times of the records begin to count, UTC
	By       string    // the program that wrote it, with its version
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

	N       int     `json:"n,omitempty"`
	AtMS    *millis `json:"at_ms,omitempty"`
	Party   string  `json:"party,omitempty"`
	Dir     string  `json:"dir,omitempty"`
	Kind    string  `json:"kind,omitempty"`
	Label   string  `json:"label,omitempty"`
	Status  int     `json:"status,omitempty"`
	Type    string  `json:"type,omitempty"`
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
	return fmt.Appendf(nil, "%d.%03d", time.Duration(m).Milliseconds(), time.Duration(m).Microseconds()%1000), nil
}

// Writer appends records to a recording. Safe for concurrent use: each line is one Write.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	redact *transcript.Redactor
	err    error
}

// NewWriter writes the first line to w. redact removes secrets from all that is written; nil removes none.
func NewWriter(w io.Writer, h Header, redact *transcript.Redactor) (*Writer, error) {
	if redact == nil {
		redact = transcript.NewRedactor()
	}
	to := &Writer{w: w, redact: redact}
	first := line{Parley: "recording", Version: Version, Protocol: h.Protocol, Role: h.Role, Driver: h.Driver,
		URL: redact.String(h.URL), By: h.By}
	if !h.Began.IsZero() {
		first.Began = h.Began.UTC().Format(time.RFC3339Nano)
	}
	return to, to.line(first)
}

// Add appends records in their order. After a failed write it does nothing but return that error.
func (w *Writer) Add(records ...transcript.Record) error {
	for _, r := range records {
		at := millis(r.At)
		l := line{N: r.N, AtMS: &at, Party: r.Conn, Dir: string(r.Dir), Kind: string(r.Kind), Label: w.redact.String(r.Label),
			Status: r.Status, Type: r.Type, Cut: r.Cut, To: r.Reply, Flushed: r.Flushed, Late: r.Late}
		if r.Event != nil {
			l.Event = r.Event.Type
		}
		switch b := w.redact.Bytes(r.Bytes); {
		case r.Bytes == nil:
		case utf8.Valid(b):
			text := string(b)
			l.Text = &text
		default:
			text := base64.StdEncoding.EncodeToString(b)
			l.Base64 = &text
		}
		if err := w.line(l); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) line(l line) error {
	b, err := json.Marshal(l)
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

// Recording is what a file holds.
type Recording struct {
	Header  Header
	Records []transcript.Record // Event is nil: a binding of the protocol reads it anew
	Torn    bool                // the last line has no end: its writer was killed, and the line is left out
}

// Read reads a recording. Members that it does not know are passed over. An error names the line.
func Read(r io.Reader) (Recording, error) {
	var rec Recording
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		text, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF) && len(text) == 0 && n > 1:
			return rec, nil
		case errors.Is(err, io.EOF) && n > 1:
			rec.Torn = true
			return rec, nil
		case errors.Is(err, io.EOF):
			return rec, errors.New("line 1: it is empty or torn: a recording begins with {\"parley\":\"recording\",…}")
		case err != nil:
			return rec, fmt.Errorf("line %d: %w", n, err)
		}
		if n == 1 {
			rec.Header, err = readHeader(text)
		} else {
			var one transcript.Record
			one, err = readRecord(text)
			if last := len(rec.Records); err == nil && last > 0 && one.N <= rec.Records[last-1].N {
				err = fmt.Errorf("/n: %d comes behind %d, and numbers grow", one.N, rec.Records[last-1].N)
			}
			rec.Records = append(rec.Records, one)
		}
		if err != nil {
			return rec, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// readLine returns the next line without its end; io.EOF with what stands before it if it has none.
func readLine(in *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := in.ReadSlice('\n')
		all = append(all, part...)
		switch {
		case len(all) > MaxLine:
			return nil, fmt.Errorf("it has more than %d MiB", MaxLine>>20)
		case err == nil:
			return all[:len(all)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return all, err
		}
	}
}

// members are those of a line. A wrong type is kept as the error, and the first one counts.
type members struct {
	of  wjson.Object
	err error
}

func readMembers(text []byte) (*members, error) {
	v, faults, err := wjson.Decode(text)
	switch o, is := v.(wjson.Object); {
	case err != nil:
		return nil, err
	case len(faults) > 0:
		return nil, errors.New(faults[0].String())
	case !is:
		return nil, fmt.Errorf("it is %s, and each line is an object", wjson.Kind(v))
	default:
		return &members{of: o}, nil
	}
}

func (m *members) wrong(name, want string) {
	if m.err == nil {
		m.err = fmt.Errorf("/%s: it is %s, want %s", name, wjson.Kind(m.of[name]), want)
	}
}

func (m *members) text(name string) string {
	s, ok := m.of[name].(string)
	if _, there := m.of[name]; there && !ok {
		m.wrong(name, "a string")
	}
	return s
}

func (m *members) flag(name string) bool {
	b, ok := m.of[name].(bool)
	if _, there := m.of[name]; there && !ok {
		m.wrong(name, "true or false")
	}
	return b
}

func (m *members) number(name string) (i int) {
	n, ok := m.of[name].(wjson.Number)
	if _, there := m.of[name]; !there {
		return 0
	}
	whole, err := n.Int64()
	if !ok || err != nil || whole < 0 || whole > 1<<52 {
		m.wrong(name, "a whole number that is not negative")
	}
	return int(whole)
}

func (m *members) millis(name string) time.Duration {
	n, ok := m.of[name].(wjson.Number)
	f, err := n.Float64()
	if !ok || err != nil || f < 0 || f > 1e12 {
		m.wrong(name, "milliseconds, a number that is not negative")
		return 0
	}
	return time.Duration(f*1000+0.5) * time.Microsecond
}

func readHeader(text []byte) (Header, error) {
	m, err := readMembers(text)
	if err != nil {
		return Header{}, err
	}
	if what := m.text("parley"); what != "recording" {
		return Header{}, errors.New(`it is no recording, which begins with {"parley":"recording",…}`)
	}
	if v := m.number("version"); m.err == nil && v != Version {
		return Header{}, fmt.Errorf("/version: %d is not known: this Parley reads version %d", v, Version)
	}
	h := Header{Protocol: m.text("protocol"), Role: m.text("role"), Driver: m.text("driver"), URL: m.text("url"),
		By: m.text("by")}
	if began := m.text("began"); began != "" && m.err == nil {
		if h.Began, err = time.Parse(time.RFC3339Nano, began); err != nil {
			return Header{}, fmt.Errorf("/began: %q is no time such as 2026-01-31T12:00:00Z", began)
		}
	}
	return h, m.err
}

// The values that a record may have.
var (
	dirs  = []transcript.Dir{transcript.Sent, transcript.Received, transcript.Noted}
	kinds = []transcript.Kind{transcript.Open, transcript.Request, transcript.Response, transcript.Stream,
		transcript.Comment, transcript.Frame, transcript.Closed, transcript.Failure, transcript.Remark, transcript.Snapshot,
		transcript.Act, transcript.Ask, transcript.Answered, transcript.Dialog, transcript.Console}
)

func readRecord(text []byte) (transcript.Record, error) {
	m, err := readMembers(text)
	if err != nil {
		return transcript.Record{}, err
	}
	r := transcript.Record{N: m.number("n"), At: m.millis("at_ms"), Conn: m.text("party"),
		Dir: transcript.Dir(m.text("dir")), Kind: transcript.Kind(m.text("kind")), Label: m.text("label"),
		Status: m.number("status"), Type: m.text("type"),
		Cut: m.number("cut"), Reply: m.number("to"), Flushed: m.flag("flushed"), Late: m.flag("late")}
	_, plain := m.of["text"]
	_, coded := m.of["base64"]
	switch {
	case m.err != nil:
	case r.N == 0:
		err = errors.New("/n: the number of the record is missing; they count from 1")
	case !slices.Contains(dirs, r.Dir):
		err = fmt.Errorf("/dir: %q is none of %q", r.Dir, dirs)
	case !slices.Contains(kinds, r.Kind):
		err = fmt.Errorf("/kind: %q is none of %q", r.Kind, kinds)
	case plain && coded:
		err = errors.New("it has both text and base64: one of them")
	case plain:
		r.Bytes = []byte(m.text("text"))
	case coded:
		if r.Bytes, err = base64.StdEncoding.DecodeString(m.text("base64")); err != nil {
			err = fmt.Errorf("/base64: %w", err)
		}
	}
	return r, errors.Join(m.err, err)
}
