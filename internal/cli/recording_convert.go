package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/reports"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/simulator/spans"
	"parley/steps"
	"parley/transport/recording"
	"parley/transport/recording/har"
)

// recordingOptions are the flags of parley recording.
type recordingOptions struct {
	schema, har, fromHAR bool
	to, out              string
	protocol, origin     string
}

// recordingWriters write a recording in another format.
var recordingWriters = map[string]func(w io.Writer, in *recording.Reader, name string) error{
	"har":  writeHAR,
	"html": writeRecordingPage,
	"otlp": writeRecordingSpans,
}

func recordingCommand(s *streams) *cobra.Command {
	var o recordingOptions
	c := &cobra.Command{
		Use:   "recording FILE",
		Short: "Print a recording as text, or convert it to OTLP, HTML or HAR, and from HAR",
		Long: `Print a recording as text, one record a line, as in the transcripts of a run. An unfinished last line
is left out, and stderr says so. FILE may be - for stdin. parley recording judge judges recordings.

--to otlp writes spans as OTLP JSON, for the collector of OpenTelemetry and what reads its files: one for each message
with its answer, with the clauses that it keeps or breaks. --to html writes the page of a report, with the messages
drawn. Both judge the recording as parley proxy would have. --to har writes HAR 1.2, which the developer tools of
browsers import.

--from-har reads a file that they have exported, and prints a recording of what the page exchanged with one server:
requests of scripts, event streams and WebSocket messages; of headers what --protocol reads. If there were several
servers, --origin names one. HAR files are kept in memory, and have 256 MiB at most.

Exit codes: 0 printed · 2 wrong usage, or the file is not a recording, or not HAR.`,
		Example: `  parley recording parley-results/transcripts/sse-AS-2.1-01.jsonl
  parley recording good.jsonl --to otlp -o traces.jsonl
  parley recording good.jsonl --to html -o good.html
  parley recording page.har --from-har --origin http://localhost:3000 > page.jsonl
  parley recording --schema`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.schema {
				_, err := s.Out.Write(recording.Schema())
				return err
			}
			if len(args) != 1 {
				return usagef("recording: name one FILE, such as parley-results/transcripts/sse-AS-2.1-01.jsonl")
			}
			o.readFormerHAR(s)
			switch {
			case o.to != "" && o.fromHAR:
				return usagef("recording: --to writes another format and --from-har reads HAR: one of them")
			case !o.fromHAR && (o.protocol != "" || o.origin != ""):
				return usagef("recording: --protocol and --origin belong to --from-har")
			case o.to == "" && o.out != "":
				return usagef("recording: --output belongs to --to")
			case o.to != "":
				return o.convertRecording(c.Context(), args[0], s)
			case o.fromHAR:
				return o.readHAR(c.Context(), args[0], s)
			}
			return showRecording(c.Context(), args[0], s)
		},
	}
	c.AddCommand(recordingJudgeCommand(s))
	f := c.Flags()
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of a line instead")
	f.StringVar(&o.to, "to", "", "convert it to `FORMAT`: otlp, html or har")
	f.StringVarP(&o.out, "output", "o", "", "`FILE` to write, which is overwritten (default stdout)")
	f.BoolVar(&o.har, "har", false, "")
	_ = f.MarkHidden("har")
	f.BoolVar(&o.fromHAR, "from-har", false, "FILE is HAR: print it as a recording")
	f.StringVar(&o.protocol, "protocol", "", "`PROTOCOL` that the page spoke")
	f.StringVar(&o.origin, "origin", "", "`URL` of the server that the page spoke with, such as http://localhost:3000")
	return c
}

// readFormerHAR reads --har as --to har.
func (o *recordingOptions) readFormerHAR(s *streams) {
	if o.har {
		fmt.Fprintf(s.Err, "%s recording: --har is --to har now; the next version no longer reads --har\n", program)
		o.to = "har"
	}
}

// convertRecording writes a recording in another format. A file is written whole, or not at all.
func (o recordingOptions) convertRecording(ctx context.Context, name string, s *streams) error {
	write := recordingWriters[o.to]
	if write == nil {
		return usagef("--to %s: the formats are otlp, html and har", o.to)
	}
	in, file, err := openRecording(ctx, name, s)
	if err != nil {
		return err
	}
	defer file.Close()
	var out bytes.Buffer
	if err := write(&out, in, name); err != nil {
		return usagef("%s: %v", name, err)
	}
	if in.Torn() {
		fmt.Fprintf(s.Err, "%s: %s: the last line is truncated, and left out\n", program, name)
	}
	if o.out == "" {
		_, err = s.Out.Write(out.Bytes())
		return err
	}
	if err := os.WriteFile(o.out, out.Bytes(), 0o644); err != nil {
		return usagef("-o: %v", err)
	}
	return nil
}

// writeHAR writes a recording as HAR.
func writeHAR(w io.Writer, in *recording.Reader, _ string) error {
	return har.Write(w, in, program+" "+suite.Version)
}

// beganAt returns when the times of a recording begin to count: those of runs do not say, and count from the time of
// their file.
func beganAt(h recording.Header, name string) time.Time {
	if !h.Began.IsZero() {
		return h.Began
	}
	if info, err := os.Stat(name); err == nil {
		return info.ModTime()
	}
	return time.Now()
}

// judgeRecording judges a recording as if it passed a proxy, in the role that it names, or else in the first of each
// side. complete sets the hooks.
func judgeRecording(in *recording.Reader, began time.Time, complete func(o *proxy.Options) error) error {
	h := in.Header()
	p, err := suite.Find(h.Protocol)
	if err != nil {
		return err
	}
	o := proxy.Options{Protocol: p, Profile: namesAt(p.Kind(), h.URL), To: h.URL}
	if o.Roles, err = proxy.RolesOf(p, h.Roles()); err != nil {
		return err
	}
	if err := complete(&o); err != nil {
		return err
	}
	return proxy.JudgeRecording(o, began, recording.NewClientView(in).Next)
}

// writeRecordingSpans writes a recording as OTLP JSON.
func writeRecordingSpans(w io.Writer, in *recording.Reader, name string) error {
	to, err := spans.ToFile(w, suite.Version)
	if err != nil {
		return err
	}
	var all *spans.Collector
	began := beganAt(in.Header(), name)
	err = judgeRecording(in, began, func(o *proxy.Options) (err error) {
		all, err = collectSpans(to, *o, began, in.Header().Driver == overStdio)
		if err == nil {
			o.Record, o.Checked = all.Record, asRunSaid(name, all.Checked)
		}
		return err
	})
	if err != nil {
		_ = to.Close(spansWait)
		return err
	}
	all.End()
	if lost := to.Close(spansWait); lost != nil {
		return errors.New(lost.String())
	}
	return nil
}

// asRunSaid returns checked, which gets the failures that a run has found in place of those of monitors alone, if name
// is the recording of one of its scenarios.
func asRunSaid(name string, checked func(proxy.Checked)) func(proxy.Checked) {
	found, of := failuresOfRun(name)
	if !of {
		return checked
	}
	return func(c proxy.Checked) {
		c.Broken = found
		checked(c)
	}
}

// failuresOfRun returns the failures in the scenario of a recording, by the results.json of its run; false if the file
// is no recording that these results name.
func failuresOfRun(name string) (out []proxy.Broken, of bool) {
	text, err := os.ReadFile(name)
	f, missing := os.Open(filepath.Join(filepath.Dir(name), "..", "results.json"))
	if err != nil || missing != nil {
		return nil, false
	}
	defer f.Close()
	res, err := reports.ReadJSON(f)
	if err != nil {
		return nil, false
	}
	sum := sha256.Sum256(text)
	for _, run := range res.Runs {
		for _, sc := range run.Scenarios {
			if sc.Recording == nil || sc.Recording.SHA256 != hex.EncodeToString(sum[:]) {
				continue
			}
			for i, f := range sc.Failures {
				out = append(out, proxy.Broken{N: f.Record(), Role: run.Role, Failure: steps.Failure{Clause: f.Clause,
					Monitor: f.Monitor, Outcome: verdict.ByLevel(f.Level, res.Strict),
					Step:    steps.StepRef{Number: i + 1, Text: f.Step},
					Finding: verdict.Finding{Expected: f.Expected, Observed: f.Observed}}})
			}
			return out, true
		}
	}
	return nil, false
}

// writeRecordingPage writes a recording as the page of a report.
func writeRecordingPage(w io.Writer, in *recording.Reader, name string) error {
	h := in.Header()
	files := map[string][]byte{}
	var collect *runner.Passive
	var lasted time.Duration
	began := beganAt(h, name)
	err := judgeRecording(in, began, func(o *proxy.Options) (err error) {
		const by = "recording"
		collect, err = runner.NewPassive(runner.PassiveOptions{Protocols: suite, Profile: o.Profile, URL: h.URL,
			Roles: roleNames(o.Roles), Explain: explaining(), Through: cmp.Or(h.Driver, by), By: by,
			Shown: proxy.EndedBy})
		o.Ended = func(e proxy.Ended) {
			seen := seenTraffic(e)
			seen.Name = strings.TrimSpace("the recording " + name + " " + e.Conn)
			seen.Recording, err = recordingOf(e, h, files)
			lasted = max(lasted, seen.Duration)
			collect.Add(seen)
		}
		return err
	})
	if err != nil {
		return err
	}
	res := collect.Results()
	res.Started, res.Duration = began.UTC(), float64(lasted.Microseconds())/1000
	return reports.WriteHTMLWith(w, res, reports.PageOptions{MaxRecording: har.MaxBytes,
		Read: func(path string) ([]byte, error) { return files[path], nil }})
}

// recordingOf keeps what was judged as a recording in files.
func recordingOf(e proxy.Ended, h recording.Header, files map[string][]byte) (*reports.Transcript, error) {
	var b bytes.Buffer
	h.Role = e.Role.Name
	out, err := recording.NewWriter(&b, h, e.Redact)
	for r := range e.T.From(0) {
		err = errors.Join(err, out.Add(proxy.EndedBy(r)))
	}
	path, sum := fmt.Sprintf("transcripts/recording-%d.jsonl", len(files)+1), sha256.Sum256(b.Bytes())
	files[path] = b.Bytes()
	return &reports.Transcript{Path: path, SHA256: hex.EncodeToString(sum[:])}, err
}

// readHAR prints a HAR file as a recording.
func (o recordingOptions) readHAR(ctx context.Context, name string, s *streams) error {
	if err := knownProtocols(givenList(o.protocol)); err != nil {
		return err
	}
	var file io.ReadCloser = io.NopCloser(s.In)
	if name != "-" {
		f, err := input.Open(ctx, name)
		if err != nil {
			return usagef("%v", err)
		}
		file = f
	}
	defer file.Close()
	out := bufio.NewWriter(s.Out)
	result, err := har.Read(out, file, harOptions(o.protocol, o.origin, nil))
	if err != nil {
		return usagef("%s: %v", name, err)
	}
	tellHAR(program, result, s.Err)
	return out.Flush()
}
