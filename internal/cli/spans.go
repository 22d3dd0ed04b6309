package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"parley/simulator/load"
	"parley/simulator/proxy"
	"parley/simulator/spans"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// spansWait is how long the end of a command waits for an endpoint, once its results are written.
const spansWait = 3 * time.Second

// spansOptions are the flags of commands that send spans.
type spansOptions struct{ endpoint string }

func (o *spansOptions) declareFlags(f *pflag.FlagSet) {
	f.StringVar(&o.endpoint, "otlp-endpoint", "",
		"send a span for each exchange to the OTLP endpoint at `URL` (default that of OTEL_EXPORTER_OTLP_ENDPOINT)")
}

// checkEndpoint checks the flag.
func (o spansOptions) checkEndpoint() error {
	if _, err := spans.Endpoint(o.endpoint); err != nil {
		return usagef("--otlp-endpoint: %v", err)
	}
	return nil
}

// openExporter returns an exporter to the endpoint, and what closes it and says what was lost; nil without one.
func (o spansOptions) openExporter(s *streams) (to *spans.Exporter, end func(), err error) {
	endpoint, err := spans.Endpoint(o.endpoint)
	if err != nil {
		return nil, nil, usagef("--otlp-endpoint: %v", err)
	}
	if endpoint == "" {
		return nil, func() {}, nil
	}
	if to, err = spans.ToEndpoint(endpoint, suite.Version); err != nil {
		return nil, nil, usagef("--otlp-endpoint: %v", err)
	}
	fmt.Fprintf(s.Err, "spans go to %s\n", transcript.MaskURLs(endpoint))
	return to, func() { tellLost(to, s.Err) }, nil
}

// tellLost closes an exporter, and says what was lost.
func tellLost(to *spans.Exporter, w io.Writer) {
	if lost := to.Close(spansWait); lost != nil {
		lost.Where = transcript.MaskURLs(lost.Where)
		fmt.Fprintf(w, "%s: %v\n", program, lost)
	}
}

// collectSpans returns what writes the spans of what passes a proxy. began is when its times begin to count; pipe: the
// server is a command.
func collectSpans(to *spans.Exporter, o proxy.Options, began time.Time, pipe bool) (*spans.Collector, error) {
	about := spans.About{Protocol: steps.Name(o.Protocol), URL: o.To, Began: began, Pipe: pipe}
	if len(o.Roles) == 1 {
		about.Role = o.Roles[0].Name
	}
	codec, err := proxy.CodecOf(o.Protocol, o.Profile, false, o.To)
	if err != nil {
		return nil, err
	}
	return spans.NewCollector(spans.NewWriter(to, about), about.Protocol, codec.Decoder()), nil
}

// sendSpans has the spans of what passes sent to the endpoint, if there is one. The returned function ends that.
func (o proxyOptions) sendSpans(opts *proxy.Options, s *streams) (end func(), err error) {
	to, closeExporter, err := o.spans.openExporter(s)
	if to == nil {
		return closeExporter, err
	}
	all, err := collectSpans(to, *opts, time.Now(), len(o.command) > 0)
	if err != nil {
		return nil, err
	}
	record := opts.Record
	opts.Record = func(r transcript.Record, redact *transcript.Redactor) {
		all.Record(r, redact)
		if record != nil {
			record(r, redact)
		}
	}
	opts.Checked = all.Checked
	return func() {
		all.End()
		closeExporter()
	}, nil
}

// sendSpans has the spans of a load sent to the endpoint, if there is one. The returned function ends that.
func (o loadOptions) sendSpans(lo *load.Options, s *streams) (end func(), err error) {
	to, closeExporter, err := o.spans.openExporter(s)
	if to == nil {
		return closeExporter, err
	}
	redact, about := transcript.NewRedactor(lo.Profile.Secrets...), aboutLoad(lo.Profile)
	var mu sync.Mutex
	var w *spans.Writer
	lo.Judged = func(l load.Life) {
		mu.Lock()
		defer mu.Unlock()
		if w == nil {
			about.Began = l.Began
			w = spans.NewWriter(to, about)
		}
		w.WriteLife(l.Name, l.Records, l.Held, l.Failures, redact)
	}
	return closeExporter, nil
}

func aboutLoad(p *target.Profile) spans.About {
	return spans.About{Protocol: p.Protocol, Role: p.Role, URL: p.URL}
}
