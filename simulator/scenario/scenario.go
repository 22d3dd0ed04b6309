// Package scenario converts recordings into scenarios in the steps of their protocol. It knows no protocol: each
// protocol converts its own messages (steps.RecordingConverter), and the others become raw steps or comments.
package scenario

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"parley/internal/cut"
	"parley/steps"
	"parley/target"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// MaxLines bounds the lines of a scenario, comments included.
const MaxLines = 2000

// maxComment and maxIDs bound what is kept of a recording, in bytes and in ids.
const (
	maxComment = 90
	maxIDs     = 10000
)

// Line is a line of a scenario: a step with what stands below it, or a comment.
type Line struct {
	Text    string  // the step without its keyword, or the comment
	Comment bool    // there is no step for it
	Below   *string // doc string of the step; nil for none
	Rows    string  // of the table below it
	Of      int     // the record that it comes from, with all lines of the same number; 0: none
}

// Told is a recording as a scenario.
type Told struct {
	Lines  []Line
	Driver string // the transport that was recorded; "" if the recording does not show it
}

// Read converts a recording into a scenario. Its steps state what the protocol requires, so they pass on a conforming
// target, whatever the recorded one did. A message without a step becomes a raw step or, if it contains an id of the
// recorded session, which is meaningless in another one, a comment. The error is that of the reader, or says that
// recordings of the protocol cannot be converted, that there is nothing to convert, or that the scenario would be
// longer than MaxLines.
func Read(in *recording.Reader, p steps.Protocol) (*Told, error) {
	converter, ok := p.(steps.RecordingConverter)
	if !ok {
		return nil, fmt.Errorf("recordings of %s cannot be converted into scenarios yet", steps.Name(p))
	}
	h := in.Header()
	t := &telling{tell: converter.ConvertRecording(steps.ConvertedRecording{Role: h.FirstRole(), Driver: h.Driver}),
		ids: map[string]bool{}, open: map[string]bool{}, asked: map[int]string{}, driver: h.Driver,
		dials: converter.TargetDials(h.FirstRole()),
		known: append(steps.Expressions(p), steps.RawExpressions()...)}
	acts, next := 0, in.Next
	if !t.dials {
		next = recording.NewClientView(in).Next
	}
	for {
		r, err := next()
		if errors.Is(err, io.EOF) {
			t.convertRecord(transcript.Record{})
			break
		}
		if err != nil {
			return nil, err
		}
		if r.Dir == transcript.Sent || t.dials {
			acts++
		}
		switch { // what an intermediary has recorded names no driver
		case t.driver != "":
		case r.Kind == transcript.Stream:
			t.driver = target.SSE
		case r.Kind == transcript.Frame:
			t.driver = target.WS
		}
		t.convertRecord(r)
		if len(t.lines) > MaxLines {
			return nil, fmt.Errorf("its scenario would have more than %d lines: cut the recording behind what matters",
				MaxLines)
		}
	}
	if acts == 0 {
		return nil, errors.New("the side that recorded it sent nothing: there is nothing to convert")
	}
	if !slices.ContainsFunc(t.lines, func(l Line) bool { return !l.Comment }) {
		return nil, errors.New("there is no step for anything in it")
	}
	return &Told{Lines: t.lines, Driver: t.driver}, nil
}

// telling is the state of Read.
type telling struct {
	tell   func(transcript.Record) ([]string, bool)
	driver string
	dials  bool     // the target connects: the harness has no connection of its own to write to
	known  []string // expressions of the steps
	ids    map[string]bool
	open   map[string]bool // parties with an open connection
	asked  map[int]string  // the party of a request without one, by its number
	now    int             // number of the record
	lines  []Line
}

// attributeRequest gives a request without a party, and its answer, the only party that has an open connection.
func (t *telling) attributeRequest(r *transcript.Record) {
	switch {
	case r.Conn == "" && r.Dir == transcript.Sent && r.Kind == transcript.Request && len(t.open) == 1:
		for party := range t.open {
			r.Conn, t.asked[r.N] = party, party
		}
	case r.Conn == "" && r.Reply > 0:
		r.Conn = t.asked[r.Reply]
		delete(t.asked, r.Reply)
	case r.Kind == transcript.Open && r.Dir == transcript.Received && r.Conn != "":
		t.open[r.Conn] = true
	case r.Kind == transcript.Closed:
		delete(t.open, r.Conn)
	}
}

// idLike matches what was probably drawn at random.
var idLike = regexp.MustCompile(`[A-Za-z0-9_-]{12,}`)

func (t *telling) convertRecord(r transcript.Record) {
	t.now = r.N
	t.attributeRequest(&r)
	if r.Conn == "" && !t.dials && r.Dir == transcript.Sent && r.Kind == transcript.Request {
		t.lines = append(t.lines, Line{Comment: true, Text: fmt.Sprintf(
			"nobody could tell which client sent (record %d): %s", r.N, quoteBriefly(r))})
		return
	}
	steps, known := t.tell(r)
	for _, text := range steps {
		t.addStep(text)
	}
	switch {
	case r.Dir == transcript.Received:
		for _, id := range idLike.FindAllString(string(r.Bytes), -1) {
			if len(t.ids) < maxIDs && strings.ContainsAny(id, "0123456789") {
				t.ids[id] = true
			}
		}
	case known:
	case r.Kind != transcript.Frame && r.Kind != transcript.Request || t.dials:
		t.addComment("no step for", r)
	default:
		t.addRawStep(r)
	}
}

// addStep adds a step, if the protocol has it.
func (t *telling) addStep(text string) {
	text, rows, _ := strings.Cut(text, "\n")
	l := Line{Text: text, Rows: rows, Of: t.now}
	if steps.ExpressionOf(t.known, text) == "" {
		l = Line{Text: "there is no such step: " + text, Comment: true}
	}
	t.lines = append(t.lines, l)
}

// addRawStep adds the raw step for a message.
func (t *telling) addRawStep(r transcript.Record) {
	body := r.Bytes
	if r.Kind == transcript.Request {
		body = append([]byte(r.Label+" "), body...)
	}
	for _, id := range idLike.FindAllString(string(body), -1) {
		if t.ids[id] {
			t.addComment("an id of that session stands in", r)
			return
		}
	}
	if r.Cut > 0 {
		t.addComment("only a part was kept of", r)
		return
	}
	text, arg := steps.RawStep("client "+r.Conn, body, r.Type == "binary")
	t.lines = append(t.lines, Line{Text: text, Below: arg.Text, Of: t.now})
}

func (t *telling) addComment(why string, r transcript.Record) {
	t.lines = append(t.lines, Line{Comment: true,
		Text: fmt.Sprintf("%s what %s sent (record %d): %s", why, r.Conn, r.N, quoteBriefly(r))})
}

// quoteBriefly returns what a comment quotes of a message.
func quoteBriefly(r transcript.Record) string {
	what := strings.Join(strings.Fields(transcript.Printable(r.Label+" "+string(r.Bytes))), " ")
	return cut.Text(what, maxComment)
}

// Feature writes lines as the only scenario of a feature, tagged with clauses.
func Feature(name string, clauses []string, lines []Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Feature: %s\n\n", name)
	if len(clauses) > 0 {
		fmt.Fprintf(&b, "  @%s\n", strings.Join(clauses, " @"))
	}
	fmt.Fprintf(&b, "  Scenario: %s\n", name)
	for _, l := range lines {
		if l.Comment {
			fmt.Fprintf(&b, "    # %s\n", l.Text)
			continue
		}
		fmt.Fprintf(&b, "    * %s\n", l.Text)
		for row := range strings.Lines(l.Rows) {
			fmt.Fprintf(&b, "      %s\n", strings.TrimSpace(row))
		}
		if l.Below != nil {
			text := "\n" + *l.Below + "\n" + `"""`
			fmt.Fprintf(&b, "      \"\"\"%s\n", strings.ReplaceAll(text, "\n", "\n      "))
		}
	}
	return b.String()
}
