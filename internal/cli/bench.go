package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/bench"
	"parley/internal/words"
	"parley/runner"
	"parley/transport/driver/browser"
)

// benchOptions are the flags of parley bench.
type benchOptions struct {
	protocols, roles, drivers []string
	tags, json                string
	runs                      int
}

func benchCommand(s *streams) *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure how long the suites take on this machine, compared with bare round trips",
		Long: `Measure the time of each scenario against the bundled targets, and beside it the floor: the time of the bare
round trips that the same scenarios need. For the floor, a client and a server that know the transport alone open as
many connections and exchange as many messages of the same sizes, as the transcripts of the run say, as many side by
side; nothing is decoded, recorded or judged, no model answers, and nothing waits for time to pass. Over browser the
floor is an empty page for each page.

The table has, for each suite and driver, what it exchanges, the medians of --runs runs for one scenario, and how many
times the floor they are: wall time, which contains the waits of a suite for silence and time-outs, and processor time,
which does not, and is not known of a browser. Both contain the target, in this process or as its child.

Conformance tools that are in PATH are measured beside: h2spec, for HTTP/2, in the same way against the server of
Go's library, and connectconformance, for Connect and gRPC, against its referenceserver, without a floor. Figures
of different machines do not compare; those of a busy machine say little. -o keeps every figure.

Exit codes: 0 measured · 2 wrong usage · 3 a target or the browser could not be started; otherwise that of the suite
that did not pass, and so was not measured.`,
		Example: `  parley bench
` + benchExample() + `
  parley bench --driver ws --runs 5 -o bench.json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.runBench(c.Context(), s) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.protocols, "protocol", nil, "protocols to measure, a comma-separated `LIST` (default all)")
	f.StringSliceVar(&o.roles, "role", []string{everyRole}, "roles to measure, a comma-separated `LIST`")
	f.StringSliceVar(&o.drivers, "driver", nil,
		"drivers to measure, a comma-separated `LIST` (default those that the bundled targets declare)")
	f.StringVar(&o.tags, "tags", "", "measure only the scenarios that a tag `EXPR` selects, and preflight")
	f.IntVar(&o.runs, "runs", 3, "run each suite, and its bare round trips, `N` times")
	f.StringVarP(&o.json, "output", "o", "", "also write all figures to `FILE`")
	return c
}

// benchExample measures one protocol.
func benchExample() string { return "  parley bench --protocol " + suite.Kinds()[0].Protocol }

func (o benchOptions) runBench(ctx context.Context, s *streams) error {
	if o.runs < 1 {
		return usagef("--runs: cannot measure %d runs (give 1 or more)", o.runs)
	}
	suites, left, err := o.suitesToMeasure()
	if err != nil {
		return err
	}
	res, err := bench.Run(ctx, bench.Options{Suites: suites, Runs: o.runs,
		Progress: func(text string) { fmt.Fprintln(s.Err, text) }})
	var found *bench.NotPassedError
	if errors.As(err, &found) {
		fmt.Fprintf(s.Err, "%s: %v (parley run --protocol %s says what was found)\n", program, err, found.Suite.Protocol)
		return exitError{max(found.Exit, verdict.ExitNonConformant)}
	}
	if err != nil {
		return nameFlag(err)
	}
	res.Skipped = append(left, res.Skipped...)
	if o.json != "" {
		if err := writeFile(o.json, func(w io.Writer) error { return benchJSON(w, res) }); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
	}
	return benchTable(s.Out, res)
}

// suitesToMeasure returns what is measured, and what is left out.
func (o benchOptions) suitesToMeasure() (all []bench.Suite, left []string, err error) {
	subjects, err := subjectsOf("", o.protocols, o.roles)
	if err == nil {
		subjects, err = dropUnselected(subjects, o.tags)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, d := range o.drivers {
		if err := someoneHas(subjects, d); err != nil {
			return nil, nil, err
		}
	}
	subjects, left, err = leaveOut(subjects, len(o.protocols) > 0 || slices.Contains(o.drivers, browser.Name),
		func(s *subject) error { return missingBrowser(s.profile) }, func(s *subject) string { return s.profile.Protocol })
	if err != nil {
		return nil, nil, err
	}
	for _, sub := range subjects {
		drivers := sub.profile.Drivers
		if len(o.drivers) > 0 {
			drivers = sub.driversAmong(o.drivers)
		}
		p := sub.profile
		for _, d := range drivers {
			all = append(all,
				bench.Suite{Protocol: p.Protocol, Role: p.Role, Driver: d, Title: titleWithRole(p.Protocol, p.Role),
					Fresh: func() runner.Options { return o.freshOptions(p.Protocol, p.Role) }})
		}
	}
	return all, left, nil
}

// freshOptions returns the options of a run against a bundled target that no other run has used.
func (o benchOptions) freshOptions(protocol, role string) runner.Options {
	t := bundle.For(suite.Kinds(), protocol, role)
	return runner.Options{Protocols: suite, Profile: t.Profile, Launcher: t.Launcher, Brain: t.Brain, Role: role,
		Tags: o.tags, Again: program + " run --protocol " + spelled(protocol)}
}

func benchJSON(w io.Writer, r *bench.Results) error {
	return json.MarshalWrite(w, r, jsontext.WithIndent("  "))
}

// benchTable prints the figures.
func benchTable(w io.Writer, r *bench.Results) error {
	title := len("suite")
	for _, row := range r.Rows {
		title = max(title, len(row.Title))
	}
	for _, p := range r.Peers {
		title = max(title, len(p.Name))
	}
	var b strings.Builder
	line := func(name, driver, cases, conns, sent, received string, cost ...any) {
		fmt.Fprintf(&b, "%-*s  %-7s  %5s  %5s  %6s  %8s", title, name, driver, cases, conns, sent, received)
		fmt.Fprintf(&b, "  %9s  %9s  %6s  %9s  %9s  %6s\n", cost...)
	}
	fmt.Fprintf(&b, "%-*s  %-7s  %5s  %5s  %6s  %8s  %28s  %28s\n", title, "", "", "", "", "", "",
		"wall time of a scenario", "processor time")
	line("suite", "driver", "cases", "conns", "sent", "received", "suite", "floor", "ratio", "suite", "floor", "ratio")
	n := func(i int) string { return fmt.Sprint(i) }
	for _, row := range r.Rows {
		line(row.Title, row.Driver, n(row.Scenarios), n(row.Connections), n(row.Sent), n(row.Received),
			costWords(row.Cost)...)
	}
	for _, p := range r.Peers {
		line(p.Name, p.Driver, n(p.Cases), n(p.Connections), n(p.Sent), n(p.Received), costWords(p.Cost)...)
	}
	fmt.Fprintf(&b, "\nMedians of %s on %s, %s/%s, %s.\n", words.Counted(r.Runs, "run"),
		words.Counted(r.Machine.CPUs, "processor"), r.Machine.OS, r.Machine.Arch, r.Machine.Go)
	for _, text := range r.Skipped {
		fmt.Fprintln(&b, text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// costWords returns what the table shows of a cost.
func costWords(c bench.Cost) []any {
	ms := func(v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf("%.3f ms", v)
	}
	times := func(v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f", v)
	}
	return []any{ms(c.Wall), ms(c.FloorWall), times(c.Ratio), ms(c.CPU), ms(c.FloorCPU), times(c.CPURatio)}
}
