package spans

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/simulator/exchange"
	"parley/steps"
	"parley/transport/transcript"
)

// Names of attributes that no convention of OpenTelemetry has.
const (
	attrProtocol   = "parley.protocol"
	attrRole       = "parley.role"
	attrConnection = "parley.connection"
	attrType       = "parley.message.type"
	attrFrom       = "parley.message.from" // client or server
	attrSize       = "parley.message.size"
	attrText       = "parley.message.text"
	attrRecord     = "parley.record"
	attrAnswer     = "parley.answer.type"
	attrAnswered   = "parley.answered" // of messages that are answered in their protocol
	attrClause     = "parley.clause"   // all that were judged; of an event, one
	attrFailed     = "parley.clause.failed"
	attrWarned     = "parley.clause.warned"
	attrOutcome    = "parley.outcome" // the worst
	attrExpected   = "parley.expected"
	attrObserved   = "parley.observed"
	attrMonitor    = "parley.monitor"
)

// maxText bounds what is written of the text of a message.
const maxText = 2 << 10

// nameOf names a span.
func nameOf(r transcript.Record) string { return cut.Head(exchange.Name(r), 100) }

// kindOf returns the kind of a span as it is seen at the client: what awaits an answer is a request that the client
// makes, or serves.
func kindOf(x *exchange.Exchange) trace.SpanKind {
	switch {
	case x.Awaited && x.ByClient():
		return trace.SpanKindClient
	case x.Awaited:
		return trace.SpanKindServer
	case x.ByClient():
		return trace.SpanKindProducer
	}
	return trace.SpanKindConsumer
}

// describe returns the attributes of an exchange.
func describe(x *exchange.Exchange) []attribute.KeyValue {
	out := []attribute.KeyValue{attribute.String(attrConnection, x.Conn), attribute.Int(attrRecord, x.Request.N)}
	if typ := exchange.Type(x.Request); typ != "" {
		out = append(out, attribute.String(attrType, typ))
	}
	if x.Session != "" {
		out = append(out, semconv.SessionID(x.Session))
	}
	if x.Awaited {
		out = append(out, attribute.Bool(attrAnswered, x.Answer != nil))
	}
	if x.Answer != nil && exchange.Type(*x.Answer) != "" {
		out = append(out, attribute.String(attrAnswer, exchange.Type(*x.Answer)))
	}
	method, path, _ := strings.Cut(x.Request.MaskedLabel(), " ")
	switch {
	case x.Request.Kind == transcript.Request, x.Request.Kind == transcript.Open && path != "":
		out = append(out, semconv.NetworkProtocolName("http"), semconv.HTTPRequestMethodKey.String(method),
			semconv.URLPath(pathOf(path)))
	case x.Request.Kind == transcript.Stream:
		out = append(out, semconv.NetworkProtocolName("http"))
	case x.Request.Kind == transcript.Frame && x.Request.Type != "":
		out = append(out, semconv.NetworkProtocolName("websocket"))
	}
	for _, r := range x.Records() {
		if (r.Kind == transcript.Response || r.Kind == transcript.Open) && r.Status >= http.StatusContinue {
			return append(out, semconv.HTTPResponseStatusCode(r.Status))
		}
	}
	return out
}

// pathOf returns the path of a request target, or of a URL, without a query.
func pathOf(target string) string {
	target, _, _ = strings.Cut(strings.TrimSuffix(target, " (upgrade)"), "?")
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		return u.Path
	}
	return target
}

// addMessage adds a message as an event.
func addMessage(span trace.Span, r transcript.Record, began time.Time) {
	from := "server"
	if r.Dir == transcript.Sent {
		from = "client"
	}
	o := []attribute.KeyValue{attribute.String(attrFrom, from), attribute.Int(attrRecord, r.N),
		attribute.Int(attrSize, len(r.Bytes)+r.Cut)}
	if len(r.Bytes) > 0 && utf8.Valid(r.Bytes) {
		o = append(o, attribute.String(attrText, cut.Head(string(r.Bytes), maxText)))
	}
	span.AddEvent(nameOf(r), trace.WithTimestamp(began.Add(r.At)), trace.WithAttributes(o...))
}

// outcome returns the worst outcome; "" if nothing was judged.
func (j Judged) outcome() verdict.Outcome {
	worst := verdict.Worst{}
	if len(j.Held) > 0 {
		worst.Take("", verdict.Passed)
	}
	for _, f := range j.Broken {
		worst.Take("", f.Outcome)
	}
	return worst[""]
}

// addJudged adds what was judged, and the failures as events.
func addJudged(span trace.Span, j Judged, when time.Time) {
	if j.outcome() == "" {
		return
	}
	all, by := slices.Clone(j.Held), map[verdict.Outcome][]string{}
	for _, f := range j.Broken {
		all, by[f.Outcome] = append(all, f.Clause), append(by[f.Outcome], f.Clause)
		span.AddEvent("clause "+string(f.Outcome), trace.WithTimestamp(when), trace.WithAttributes(
			attribute.String(attrClause, f.Clause), attribute.String(attrOutcome, string(f.Outcome)),
			attribute.String(attrExpected, cut.Head(f.Expected, maxText)),
			attribute.String(attrObserved, cut.Head(f.Observed, maxText)), attribute.String(attrMonitor, f.Monitor)))
	}
	span.SetAttributes(attribute.String(attrOutcome, string(j.outcome())), attribute.StringSlice(attrClause, sorted(all)))
	for outcome, name := range map[verdict.Outcome]string{verdict.Failed: attrFailed, verdict.Warned: attrWarned} {
		if len(by[outcome]) > 0 {
			span.SetAttributes(attribute.StringSlice(name, sorted(by[outcome])))
		}
	}
	if i := slices.IndexFunc(j.Broken, func(f steps.Failure) bool { return f.Outcome == verdict.Failed }); i >= 0 {
		span.SetStatus(codes.Error, cut.Head(j.Broken[i].Clause+": "+j.Broken[i].Observed, maxText))
	}
}

func sorted(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// parentOf returns the trace context that a message of an exchange carries: the header of a request, or a member
// traceparent of a message or of an object in it. It is not valid if there is none.
func parentOf(x *exchange.Exchange) trace.SpanContext {
	for _, r := range x.Records() {
		text := r.Trace
		if text == "" && r.Event != nil {
			text = findTrace(r.Event.Envelope, 3)
		}
		if text == "" {
			continue
		}
		ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
		if found := trace.SpanContextFromContext(ctx); found.IsValid() {
			return found
		}
	}
	return trace.SpanContext{}
}

// findTrace looks for a member traceparent.
func findTrace(v any, depth int) string {
	o, is := v.(map[string]any)
	if !is || depth == 0 {
		return ""
	}
	if text, ok := o["traceparent"].(string); ok {
		return text
	}
	for _, of := range o {
		if text := findTrace(of, depth-1); text != "" {
			return text
		}
	}
	return ""
}
