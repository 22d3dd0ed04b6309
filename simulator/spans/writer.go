package spans

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"parley/features/verdict"
	"parley/internal/unixurl"
	"parley/simulator/exchange"
	"parley/steps"
	"parley/transport/transcript"
)

// maxSessions bounds the sessions whose spans wait for their end.
const maxSessions = 10_000

// About is where the messages of a Writer come from.
type About struct {
	Protocol string
	Role     string    // that is judged; "" for several
	URL      string    // of the target; "" if it is not known
	Pipe     bool      // the target is a command on stdin and stdout
	Began    time.Time // when the times of records begin to count
}

// Judged is what was said about the records of an exchange.
type Judged struct {
	Held   []string // clauses that it shows to be kept
	Broken []steps.Failure
}

// Writer writes exchanges as spans. The exchanges of a session are one trace, in which the session on a connection is a
// span of its own; an exchange with a trace context is part of that trace, with a link to its session. It is for one
// goroutine.
type Writer struct {
	to       *Exporter
	about    About
	base     []attribute.KeyValue // of all spans
	sessions map[[2]string]*sessionSpan
	order    [][2]string // of sessions, oldest first
}

// sessionSpan is a session on a connection.
type sessionSpan struct {
	of          trace.SpanContext
	conn, id    string
	first, last time.Time
	exchanges   int
	worst       verdict.Worst // of all clauses, by ""
}

// NewWriter returns a Writer.
func NewWriter(to *Exporter, about About) *Writer {
	w := &Writer{to: to, about: about, sessions: map[[2]string]*sessionSpan{}}
	w.base = []attribute.KeyValue{attribute.String(attrProtocol, about.Protocol)}
	if about.Role != "" {
		w.base = append(w.base, attribute.String(attrRole, about.Role))
	}
	w.base = append(w.base, networkOf(about)...)
	return w
}

// networkOf describes how a target is reached.
func networkOf(about About) []attribute.KeyValue {
	if about.Pipe {
		return []attribute.KeyValue{semconv.NetworkTransportPipe}
	}
	if unixurl.Is(about.URL) {
		return []attribute.KeyValue{semconv.NetworkTransportUnix}
	}
	out := []attribute.KeyValue{semconv.NetworkTransportTCP}
	u, err := url.Parse(about.URL)
	if err != nil || u.Hostname() == "" {
		return out
	}
	out = append(out, semconv.ServerAddress(u.Hostname()), semconv.URLScheme(u.Scheme))
	if port, err := strconv.Atoi(u.Port()); err == nil {
		out = append(out, semconv.ServerPort(port))
	}
	return out
}

// wantedIDs are the ids of the span that is about to begin.
type wantedIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

type idsKey struct{}

// givenIDs gives spans the ids that their context names, so that the same recording always makes the same spans.
type givenIDs struct{}

var _ sdktrace.IDGenerator = givenIDs{}

// NewIDs implements sdktrace.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	ids, _ := ctx.Value(idsKey{}).(wantedIDs)
	return ids.trace, ids.span
}

// NewSpanID implements sdktrace.IDGenerator.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	ids, _ := ctx.Value(idsKey{}).(wantedIDs)
	return ids.span
}

// digest makes an id of parts.
func (w *Writer) digest(parts ...any) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendln(nil, append([]any{w.about.Protocol, w.about.URL, w.about.Began.UnixNano()},
		parts...)...))
}

// sessionOf returns the span of an exchange's session on its connection.
func (w *Writer) sessionOf(x *exchange.Exchange) *sessionSpan {
	at := [2]string{x.Conn, x.Session}
	if s := w.sessions[at]; s != nil {
		return s
	}
	of := cmp.Or(x.Session, "connection "+x.Conn) // what makes up the trace
	ids, span := w.digest("trace", of), w.digest("session", x.Conn, of)
	s := &sessionSpan{conn: x.Conn, id: x.Session, worst: verdict.Worst{}}
	s.of = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(ids[:16]), SpanID: trace.SpanID(span[:8]),
		TraceFlags: trace.FlagsSampled})
	if len(w.order) >= maxSessions {
		w.endSession(w.order[0])
	}
	w.sessions[at] = s
	w.order = append(w.order, at)
	return s
}

// Write writes an exchange, with what was said about its records.
func (w *Writer) Write(x *exchange.Exchange, judged Judged) {
	s := w.sessionOf(x)
	from, to := w.about.Began.Add(x.Request.At), w.about.Began.Add(x.Until)
	s.add(from, to, judged)
	id := w.digest("exchange", x.Conn, x.Request.N)
	ctx := context.WithValue(context.Background(), idsKey{}, wantedIDs{span: trace.SpanID(id[:8])})
	o := []trace.SpanStartOption{trace.WithTimestamp(from), trace.WithSpanKind(kindOf(x)),
		trace.WithAttributes(w.base...), trace.WithAttributes(describe(x)...)}
	if parent := parentOf(x); parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
		o = append(o, trace.WithLinks(trace.Link{SpanContext: s.of}))
	} else {
		ctx = trace.ContextWithSpanContext(ctx, s.of)
	}
	_, span := w.to.tracer.Start(ctx, nameOf(x.Request), o...)
	for _, r := range x.Records() {
		addMessage(span, r, w.about.Began)
	}
	if x.Answer != nil && x.Answer.Kind == transcript.Failure {
		span.SetStatus(codes.Error, x.Answer.Label)
	}
	addJudged(span, judged, to)
	w.to.end(span, to)
}

// WriteFailure writes a failure at a record that belongs to no exchange; n is 0 for none.
func (w *Writer) WriteFailure(conn string, n int, f steps.Failure) {
	s := w.sessionOf(&exchange.Exchange{Conn: conn})
	when := w.about.Began
	if s.exchanges > 0 {
		when = s.last
	}
	s.add(when, when, Judged{Broken: []steps.Failure{f}})
	id := w.digest("failure", conn, n, f.Clause, f.Monitor, f.Step.Number)
	ctx := context.WithValue(context.Background(), idsKey{}, wantedIDs{span: trace.SpanID(id[:8])})
	_, span := w.to.tracer.Start(trace.ContextWithSpanContext(ctx, s.of), f.Clause, trace.WithTimestamp(when),
		trace.WithAttributes(w.base...), trace.WithAttributes(attribute.String(attrConnection, conn)))
	addJudged(span, Judged{Broken: []steps.Failure{f}}, when)
	w.to.end(span, when)
}

// EndConnection writes the spans of the sessions on a connection.
func (w *Writer) EndConnection(conn string) {
	for _, at := range slices.Clone(w.order) {
		if at[0] == conn {
			w.endSession(at)
		}
	}
}

// End writes the spans of all sessions.
func (w *Writer) End() {
	for _, at := range slices.Clone(w.order) {
		w.endSession(at)
	}
}

func (w *Writer) endSession(at [2]string) {
	s := w.sessions[at]
	delete(w.sessions, at)
	w.order = slices.DeleteFunc(w.order, func(one [2]string) bool { return one == at })
	ctx := context.WithValue(context.Background(), idsKey{}, wantedIDs{s.of.TraceID(), s.of.SpanID()})
	name, more := "connection", []attribute.KeyValue{attribute.String(attrConnection, s.conn)}
	if s.id != "" {
		name, more = "session", append(more, semconv.SessionID(s.id))
	}
	worst := s.worst[""]
	if worst != "" {
		more = append(more, attribute.String(attrOutcome, string(worst)))
	}
	_, span := w.to.tracer.Start(ctx, name, trace.WithTimestamp(s.first), trace.WithNewRoot(),
		trace.WithAttributes(w.base...), trace.WithAttributes(more...))
	if worst == verdict.Failed {
		span.SetStatus(codes.Error, "a clause is broken")
	}
	w.to.end(span, s.last)
}

// end ends a span, which may then be lost.
func (e *Exporter) end(span trace.Span, when time.Time) {
	e.ended.Add(1)
	span.End(trace.WithTimestamp(when))
}

func (s *sessionSpan) add(from, to time.Time, judged Judged) {
	if s.exchanges++; s.exchanges == 1 || from.Before(s.first) {
		s.first = from
	}
	if to.After(s.last) {
		s.last = to
	}
	if o := judged.outcome(); o != "" {
		s.worst.Take("", o)
	}
}
