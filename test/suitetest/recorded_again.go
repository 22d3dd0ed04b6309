package suitetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/simulator/proxy"
	"parley/steps"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// recordedAgain records what passes a proxy, and judges the recording as the proxy judged live.
type recordedAgain struct {
	o    proxy.Options
	file bytes.Buffer

	mu   sync.Mutex
	err  error
	live []string // what the proxy said at the end
}

// watch has what passes recorded, and what the proxy says at the end.
func (a *recordedAgain) watch(o *proxy.Options) error {
	a.o = *o
	w, err := recording.NewWriter(&a.file, recording.Header{Protocol: steps.Name(o.Protocol), URL: o.To,
		Began: time.Now(), Redacted: true}, nil)
	if err != nil {
		return err
	}
	o.Record = func(r transcript.Record, redact *transcript.Redactor) {
		r.Bytes, r.Label, r.Type = redact.Bytes(r.Bytes), redact.String(r.Label), redact.String(r.Type)
		err := w.Add(r)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.err = errors.Join(a.err, err)
	}
	ended := o.Ended
	o.Ended = func(e proxy.Ended) {
		a.mu.Lock()
		a.live = append(a.live, saidAtEnd(e)...)
		a.mu.Unlock()
		ended(e)
	}
	return nil
}

// compare judges the recording, and checks that it says what the proxy has said.
func (a *recordedAgain) compare(t testing.TB) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	text := bytes.Clone(a.file.Bytes())
	in, err := recording.NewReader(&a.file)
	if err = errors.Join(a.err, err); err != nil {
		t.Error(err)
		return
	}
	var again []string
	a.o.Found, a.o.Ended = nil, func(e proxy.Ended) { again = append(again, saidAtEnd(e)...) }
	if err := proxy.JudgeRecording(a.o, in.Header().Began, recording.NewClientView(in).Next); err != nil {
		t.Error(err)
	}
	slices.Sort(a.live)
	slices.Sort(again)
	if d := cmp.Diff(a.live, again); d != "" {
		t.Errorf("the recording is judged otherwise: live -, recorded +:\n%s\n%.20000s", d, text)
	}
}

// saidAtEnd is what was judged and found in a role, or on one of its connections, a line each.
func saidAtEnd(e proxy.Ended) (lines []string) {
	about := fmt.Sprint(e.Role.Name, " ", e.Conn, ": ")
	if e.T.Len() > 0 {
		lines = append(lines, fmt.Sprint(about, e.T.Len(), " records, whole ", e.Whole, e.Partly))
	}
	for _, j := range e.Judged {
		lines = append(lines, fmt.Sprint(about, j.Clause, " ", j.Outcome))
	}
	for _, f := range e.Failures {
		lines = append(lines, fmt.Sprint(about, f.Clause, " ", f.Monitor, " ", f.Outcome, " at ", f.At, ": ", f.Expected,
			", ", f.Observed))
	}
	return lines
}
