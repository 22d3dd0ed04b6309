package recording

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Recording is what a file holds.
type Recording struct {
	Header  Header
	Records []transcript.Record // Event is nil: a binding of the protocol reads it anew
	Torn    bool                // the last line is not whole: its writer was killed, and it is left out
}

// Read reads a whole recording into memory. Errors are those of Reader; what came before one is returned with it.
func Read(r io.Reader) (Recording, error) {
	in, err := NewReader(r)
	if err != nil {
		return Recording{}, err
	}
	rec := Recording{Header: in.Header()}
	for {
		one, err := in.Next()
		rec.Torn = in.Torn()
		if errors.Is(err, io.EOF) {
			return rec, nil
		}
		if err != nil {
			return rec, err
		}
		rec.Records = append(rec.Records, one)
	}
}

// Reader reads a recording record by record. It keeps no more than one line in memory. Members that it does not know
// are passed over. An error names the line. It is for one goroutine.
type Reader struct {
	in     *bufio.Reader
	header Header
	line   int // number of the line that was read last
	last   int // number of the record that was read last
	torn   bool
	err    error // the end: io.EOF, or a mistake
}

// NewReader reads the first line.
func NewReader(r io.Reader) (*Reader, error) {
	to := &Reader{in: bufio.NewReaderSize(r, 64<<10), line: 1}
	if mark, _ := to.in.Peek(3); string(mark) == "\xef\xbb\xbf" { // editors write it
		_, _ = to.in.Discard(3)
	}
	text, err := readLine(to.in)
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty or torn: a recording begins with {\"parley\":\"recording\",…}")
	}
	if err == nil {
		to.header, err = readHeader(text)
	}
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("line 1: %w", err)
	}
	return to, nil
}

// Header returns the first line.
func (r *Reader) Header() Header { return r.header }

// Torn reports whether the last line was not whole, once Next has returned io.EOF: its writer was killed, and the line
// is left out. A line that lacks only its line feed is read.
func (r *Reader) Torn() bool { return r.torn }

// Next returns the next record, whose Event is nil; io.EOF behind the last one. After an error it returns that error
// again.
func (r *Reader) Next() (transcript.Record, error) {
	if r.err != nil {
		return transcript.Record{}, r.err
	}
	r.line++
	text, err := readLine(r.in)
	if errors.Is(err, io.EOF) {
		if _, whole := readMembers(text); whole == nil { // it lacks its end only; the next call finds the end
			err = nil
		} else {
			r.torn, r.err = len(text) > 0, io.EOF
			return transcript.Record{}, r.err
		}
	}
	var one transcript.Record
	if err == nil {
		one, err = readRecord(text)
	}
	if err == nil && one.N <= r.last {
		err = fmt.Errorf("/n: %d comes behind %d, and numbers grow", one.N, r.last)
	}
	if err != nil {
		r.err = fmt.Errorf("line %d: %w", r.line, err)
		return transcript.Record{}, r.err
	}
	r.last = one.N
	return one, nil
}

// readLine returns the next line without its end; io.EOF with what stands before it if it has none.
func readLine(in *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(all) > 1<<20 && cap(all) < MaxLine { // once, and not again and again
			all = slices.Grow(all, MaxLine+in.Size()-len(all))
		}
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
		return nil, fmt.Errorf("it is %s, and each line is an object", kindOf(v))
	default:
		return &members{of: o}, nil
	}
}

// kindOf names the kind of a value.
func kindOf(v any) string {
	switch kind := wjson.Kind(v); kind {
	case "null":
		return kind
	case "array", "object":
		return "an " + kind
	default:
		return "a " + kind
	}
}

func (m *members) addMistake(name, want string) {
	if m.err == nil {
		m.err = fmt.Errorf("/%s: it is %s, want %s", name, kindOf(m.of[name]), want)
	}
}

func (m *members) readText(name string) string {
	s, ok := m.of[name].(string)
	if _, there := m.of[name]; there && !ok {
		m.addMistake(name, "a string")
	}
	return s
}

func (m *members) readFlag(name string) bool {
	b, ok := m.of[name].(bool)
	if _, there := m.of[name]; there && !ok {
		m.addMistake(name, "true or false")
	}
	return b
}

func (m *members) readNumber(name string) (i int) {
	n, ok := m.of[name].(wjson.Number)
	if _, there := m.of[name]; !there {
		return 0
	}
	whole, err := n.Int64()
	if !ok || err != nil || whole < 0 || whole > 1<<52 {
		m.addMistake(name, "a whole number that is not negative")
	}
	return int(whole)
}

func (m *members) readMillis(name string) time.Duration {
	n, ok := m.of[name].(wjson.Number)
	f, err := n.Float64()
	if !ok || err != nil || f < 0 || f > 1e12 {
		m.addMistake(name, "milliseconds, a number that is not negative")
		return 0
	}
	return time.Duration(f*1000+0.5) * time.Microsecond
}

func readHeader(text []byte) (Header, error) {
	m, err := readMembers(text)
	if err != nil {
		return Header{}, err
	}
	if what := m.readText("parley"); what != "recording" {
		return Header{}, errors.New(`it is no recording, which begins with {"parley":"recording",…}`)
	}
	if v := m.readNumber("version"); m.err == nil && v != Version {
		return Header{}, fmt.Errorf("/version: %d is not known: this Parley reads version %d", v, Version)
	}
	h := Header{Protocol: m.readText("protocol"), Role: m.readText("role"), Driver: m.readText("driver"),
		URL: m.readText("url"),
		By:  m.readText("by"), Redacted: m.readFlag("redacted")}
	if began := m.readText("began"); began != "" && m.err == nil {
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
	r := transcript.Record{N: m.readNumber("n"), At: m.readMillis("at_ms"), Conn: m.readText("party"),
		Dir: transcript.Dir(m.readText("dir")), Kind: transcript.Kind(m.readText("kind")), Label: m.readText("label"),
		Status: m.readNumber("status"), Type: m.readText("type"), ID: m.readText("id"),
		Trace: m.readText("traceparent"), Headers: m.readText("headers"),
		Cut: m.readNumber("cut"), Reply: m.readNumber("to"), Flushed: m.readFlag("flushed"), Late: m.readFlag("late")}
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
		r.Bytes = []byte(m.readText("text"))
	case coded:
		if r.Bytes, err = base64.StdEncoding.DecodeString(m.readText("base64")); err != nil {
			err = fmt.Errorf("/base64: %w", err)
		}
	}
	return r, errors.Join(m.err, err)
}
