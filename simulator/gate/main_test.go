package gate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/simulator/gate"
	"parley/transport/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within bounds each wait of a test; only a failing test uses it up.
const within = 20 * time.Second

func boundedContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// stand is a gate in front of an upstream, with its records.
type stand struct {
	*gate.Gate
	t   *testing.T
	log *transcript.Transcript
}

// openGate starts a gate; up may be nil: no upstream.
func openGate(t *testing.T, up *httptest.Server, change func(o *gate.Options)) *stand {
	t.Helper()
	log := transcript.New(nil)
	o := gate.Options{Sink: log.Append}
	if up != nil {
		o.Upstream = func() string { return up.URL }
	}
	if change != nil {
		change(&o)
	}
	g, err := gate.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.Close()
		if n := gate.Held(g); n != 0 {
			t.Errorf("%d bytes are held after the end", n)
		}
	})
	return &stand{g, t, log}
}

// serve starts an upstream.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// awaitRecord waits for a record.
func (s *stand) awaitRecord(what string, is func(r transcript.Record) bool) transcript.Record {
	s.t.Helper()
	r, err := s.log.Await(boundedContext(s.t), 0, func(r *transcript.Record) bool { return is(*r) })
	if err != nil {
		for _, r := range s.log.All() {
			s.t.Log(r.Line(160))
		}
		s.t.Fatalf("no record of %s: %v", what, err)
	}
	return r
}

// lines returns the records in a short form: direction, kind, label, status and
// payload.
func (s *stand) lines() []string {
	var out []string
	for _, r := range s.log.All() {
		out = append(out, r.Line(0))
	}
	return out
}
