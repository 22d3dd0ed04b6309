// Package spans writes exchanges of messages as spans of OpenTelemetry, to an OTLP endpoint or as OTLP JSON to a file.
package spans

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// The variables of the environment that name an endpoint. Others are read by OpenTelemetry's library.
const (
	endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesVariable   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	queueVariable    = "OTEL_BSP_MAX_QUEUE_SIZE"
)

const (
	tracesPath = "/v1/traces"
	mostQueued = 1 << 15 // spans that wait for the endpoint; others are lost
)

// Exporter takes spans. It never waits for its endpoint, apart from Close. It is safe for concurrent use.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	where    string
	abandon  context.CancelFunc // ends what is being sent

	ended     atomic.Int64
	delivered atomic.Int64
	mu        sync.Mutex
	err       error // the last one
}

// Lost says what did not arrive.
type Lost struct {
	Spans, Of int64
	Where     string // the endpoint
	Why       error
}

// String describes it in one line.
func (l Lost) String() string {
	return fmt.Sprintf("%d of %d spans did not reach %s: %v", l.Spans, l.Of, l.Where, l.Why)
}

// Endpoint returns the URL to which spans go: that of given, the value of a flag, with /v1/traces unless it ends so
// already, or else of the environment, as OpenTelemetry's library reads it; "" if nobody has named one. The error says
// what is wrong with given.
func Endpoint(given string) (string, error) {
	if given == "" {
		if all := os.Getenv(endpointVariable); all != "" {
			given = strings.TrimSuffix(all, "/") + tracesPath
		}
		return cmp.Or(os.Getenv(tracesVariable), given), nil
	}
	u, err := url.Parse(given)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%q is not the URL of an endpoint (write it like http://localhost:4318)", given)
	case u.User != nil:
		return "", errors.New("a URL with a password is not sent (give it in OTEL_EXPORTER_OTLP_HEADERS)")
	}
	if !strings.HasSuffix(u.Path, tracesPath) {
		u.Path = strings.TrimSuffix(u.Path, "/") + tracesPath
	}
	return u.String(), nil
}

// ToEndpoint returns an Exporter to an endpoint, the result of Endpoint, by OTLP over HTTP. version is that of the
// program.
func ToEndpoint(endpoint, version string) (*Exporter, error) {
	return newExporter(endpoint, version, false, otlptracehttp.WithEndpointURL(endpoint))
}

// ToFile returns an Exporter that writes OTLP JSON to w, a line for each batch of spans, as the file exporter of
// OpenTelemetry's collector does. It waits for w.
func ToFile(w io.Writer, version string) (*Exporter, error) {
	return newExporter("the file", version, true, otlptracehttp.WithEncoding(otlptracehttp.EncodingJSON),
		otlptracehttp.WithEndpointURL("http://file"), otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		otlptracehttp.WithMaxRequestSize(0), otlptracehttp.WithHTTPClient(&http.Client{Transport: &lineWriter{w: w}}))
}

// lineWriter writes the bodies of requests as lines: the library writes OTLP JSON only to endpoints.
type lineWriter struct{ w io.Writer }

// RoundTrip implements http.RoundTripper.
func (l *lineWriter) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		_, err = l.w.Write(append(bytes.TrimSpace(body), '\n'))
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

func newExporter(where, version string, waits bool, o ...otlptracehttp.Option) (*Exporter, error) {
	ctx, abandon := context.WithCancel(context.Background())
	out, err := otlptracehttp.New(ctx, o...)
	if err != nil {
		abandon()
		return nil, err
	}
	of, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(semconv.ServiceName("parley"),
		semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil && of == nil {
		abandon()
		return nil, err
	}
	e := &Exporter{where: where, abandon: abandon}
	batches := []sdktrace.BatchSpanProcessorOption{}
	switch {
	case waits:
		batches = append(batches, sdktrace.WithBlocking())
	case os.Getenv(queueVariable) == "":
		batches = append(batches, sdktrace.WithMaxQueueSize(mostQueued))
	}
	counted := &countingExporter{SpanExporter: out, e: e, over: ctx}
	e.provider = sdktrace.NewTracerProvider(sdktrace.WithBatcher(counted, batches...), sdktrace.WithResource(of),
		sdktrace.WithIDGenerator(givenIDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	e.tracer = e.provider.Tracer("parley", trace.WithInstrumentationVersion(version),
		trace.WithSchemaURL(semconv.SchemaURL))
	return e, nil
}

// countingExporter counts what arrives. It returns no errors, which the library would print one by one.
type countingExporter struct {
	sdktrace.SpanExporter
	e    *Exporter
	over context.Context // Close waits no longer
}

// ExportSpans implements sdktrace.SpanExporter.
func (c *countingExporter) ExportSpans(ctx context.Context, all []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.over, cancel)()
	if err := c.SpanExporter.ExportSpans(ctx, all); err != nil {
		c.e.mu.Lock()
		if c.over.Err() == nil || c.e.err == nil {
			c.e.err = err
		}
		c.e.mu.Unlock()
		return nil
	}
	c.e.delivered.Add(int64(len(all)))
	return nil
}

// Close sends what waits, for a time at most, and says what did not arrive; nil for nothing.
func (e *Exporter) Close(within time.Duration) *Lost {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	stop := context.AfterFunc(ctx, e.abandon)
	_ = e.provider.Shutdown(context.Background()) // ends once nothing is being sent any more
	stop()
	e.abandon()
	lost := Lost{Of: e.ended.Load(), Where: e.where}
	if lost.Spans = lost.Of - e.delivered.Load(); lost.Spans == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case ctx.Err() != nil && (e.err == nil || errors.Is(e.err, context.Canceled)):
		lost.Why = fmt.Errorf("no answer within %v", within)
	case e.err == nil:
		lost.Why = errors.New("there were more than it took")
	default:
		lost.Why = plainError(e.err)
	}
	return &lost
}

// plainError returns the part of an error of the library that says why.
func plainError(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
