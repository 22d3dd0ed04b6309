package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"parley/internal/words"
	"parley/reports"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/simulator/trafficview"
	"parley/steps"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// openScreen has what passes shown on the terminal, with keys; nil where nobody types, where a page shows the traffic,
// and before a command, which has the terminal.
func (o proxyOptions) openScreen(opts *proxy.Options, collect *runner.Passive, s *streams) *trafficview.View {
	in, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !s.OutTTY || !s.ErrTTY || o.console != "" || len(o.command) > 0 {
		return nil
	}
	v := trafficview.New(trafficview.Options{Judges: o.judgesText(*opts, collect), In: in, Out: s.Err,
		TypeOf: typesOf(steps.Name(opts.Protocol)), Color: s.Color && !o.noColor, Explain: sentencesOf(opts.Protocol),
		Export: func(records []transcript.Record) (string, error) { return o.exportRecords(opts.Protocol, records) }})
	o.showOn(v, opts)
	return v
}

// sentencesOf returns a function that returns what a clause of a protocol says.
func sentencesOf(p steps.Protocol) func(clause string) string {
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil
	}
	return func(clause string) string {
		row, _ := ledger.Row(clause)
		return strings.TrimSpace(string(row.Level) + " " + row.Text)
	}
}

// showOn has the view told what passes, beside whoever is told already. Nothing else is printed meanwhile.
func (o proxyOptions) showOn(v *trafficview.View, opts *proxy.Options) {
	record, checked := opts.Record, opts.Checked
	opts.Record = func(r transcript.Record, redact *transcript.Redactor) {
		if record != nil {
			record(r, redact)
		}
		v.Add(r, redact)
	}
	opts.Checked = func(c proxy.Checked) {
		if checked != nil {
			checked(c)
		}
		v.Check(c)
	}
	opts.Found, opts.Event, opts.Hold = nil, nil, v.Hold
}

// judgesText says in a few words what is judged.
func (o proxyOptions) judgesText(opts proxy.Options, collect *runner.Passive) string {
	var parts []string
	for _, r := range opts.Roles {
		judged, not := collect.Judgeable(r.Name)
		parts = append(parts, fmt.Sprintf("%s: %s of the %v can be judged, %d need the harness to act",
			titleWithRole(o.protocol, r.Name), words.Counted(len(judged), "clause"), r.Side, len(not)))
	}
	return strings.Join(parts, " · ")
}

// exportRecords writes records as a recording beside the results, and returns its name.
func (o proxyOptions) exportRecords(protocol steps.Protocol, records []transcript.Record) (string, error) {
	name := filepath.Join(o.out, "traffic-"+time.Now().Format("20060102-150405.000")+".jsonl")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	w, err := recording.NewWriter(f, recording.Header{Protocol: steps.Name(protocol), URL: transcript.MaskURLs(o.to),
		Began: time.Now(), By: program + " " + suite.Version, Redacted: true}, nil)
	for i := 0; err == nil && i < len(records); i++ {
		err = w.Add(records[i])
	}
	return name, errors.Join(err, f.Close())
}

// watchScreen shows the traffic of a proxy until the person leaves it, or ctx ends.
func (o proxyOptions) watchScreen(ctx context.Context, v *trafficview.View, p *proxy.Proxy) error {
	return v.Run(ctx, p.URL()+" → "+transcript.MaskURLs(o.to), p)
}

// noteHeld says in the results that messages were held back by hand: what was late may be late for that.
func noteHeld(res *reports.Results, v *trafficview.View) {
	if v == nil || v.Held() == 0 {
		return
	}
	for i := range res.Runs {
		res.Runs[i].Notes = append(res.Runs[i].Notes, reports.Note{Kind: "harness", Text: words.Counted(v.Held(), "message") +
			" waited on the way, held back by hand: what came late may have come late for that"})
	}
}
