package console

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley/protocol/messages"
	"parley/transport/recording"
	"parley/transport/recording/har"
	"parley/transport/transcript"
)

// answerRecording answers with the records as JSON Lines, or as HAR.
func (c *Console) answerRecording(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	name := func(extension string) {
		w.Header().Set("Content-Disposition", `attachment; filename="session-`+s.id+extension+`"`)
	}
	switch format := r.FormValue("format"); format {
	case "", "jsonl":
		w.Header().Set("Content-Type", "application/jsonl")
		name(".jsonl")
		_ = s.writeRecording(w) // an error means that the client has disconnected
		return nil, nil
	case "har":
		var out bytes.Buffer
		if err := s.writeHAR(&out, c.program()); err != nil {
			return nil, newError(http.StatusConflict, "the records cannot be written as HAR: "+err.Error())
		}
		w.Header().Set("Content-Type", "application/json")
		name(".har")
		_, _ = w.Write(out.Bytes())
		return nil, nil
	default:
		return nil, newError(http.StatusBadRequest, "?format= is jsonl or har, and not "+strconv.Quote(format))
	}
}

func (c *Console) program() string { return cmp.Or(c.o.Program, "parley") }

// writeRecording writes the records as JSON Lines, without secrets.
func (s *session) writeRecording(w io.Writer) error {
	if s.kind == kindTest {
		return s.test.Record(w)
	}
	shown := s.sessionView()
	role := shown.Role
	if both, ok := s.judge.(ProgramJudge); ok { // what the server got may be something else
		role = both.ProgramRole()
	}
	rec, err := recording.NewWriter(w, recording.Header{Protocol: s.protocol, Role: role, Driver: shown.Driver,
		URL: shown.URL, Began: s.began}, nil)
	if err != nil {
		return err
	}
	for after := 0; ; {
		some := s.records.Page(after, usualRecords)
		if len(some) == 0 {
			return nil
		}
		for _, r := range some {
			after, r.Label = r.N, s.redact(r.Label)
			if r.Bytes != nil {
				r.Bytes = []byte(s.redact(string(r.Bytes)))
			}
			if err := rec.Add(r); err != nil {
				return err
			}
		}
	}
}

// writeHAR writes the records as HAR.
func (s *session) writeHAR(w io.Writer, by string) error {
	read, write := io.Pipe()
	written := make(chan struct{})
	go func() { defer close(written); _ = write.CloseWithError(s.writeRecording(write)) }()
	defer func() { _ = read.Close(); <-written }()
	in, err := recording.NewReader(read)
	if err != nil {
		return err
	}
	return har.Write(w, in, by)
}

// readRecording reads an uploaded recording or HAR file.
func (q uploadedRecords) readRecording() (recording.Recording, error) {
	var in io.Reader = strings.NewReader(q.Recording)
	name := "recording: "
	if q.HAR != "" {
		name = "har: "
		var out bytes.Buffer
		if _, err := har.Read(&out, strings.NewReader(q.HAR), har.Options{Origin: q.Origin}); err != nil {
			return recording.Recording{}, newError(http.StatusBadRequest, name+err.Error())
		}
		in = &out
	}
	rec, err := recording.Read(in)
	if err != nil {
		return rec, newError(http.StatusBadRequest, name+err.Error())
	}
	return rec, nil
}

// count returns how many are true.
func count(all ...bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

// recognizeProtocol returns the protocol of records that do not name theirs: the given one, or that to which most of
// their messages belong; "" if none of them belongs to any.
func (c *Console) recognizeProtocol(given string, records []transcript.Record) (protocol string) {
	if given != "" || c.o.TypeOf == nil || c.o.Protocols == nil {
		return given
	}
	most := 0
	for _, p := range c.o.Protocols() {
		known, n := messages.For(p.ID).Types(), 0
		for _, r := range records[:min(len(records), lookedAt)] {
			if len(r.Bytes) > 0 && slices.Contains(known, c.o.TypeOf(p.ID, r.Bytes)) {
				n++
			}
		}
		if n > most {
			protocol, most = p.ID, n
		}
	}
	return protocol
}
