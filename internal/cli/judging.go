package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/protocol/messages"
	"parley/reports"
	"parley/runner"
	"parley/simulator/exchange"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// judgingOptions are the flags of commands that judge traffic between others: live, or recorded.
type judgingOptions struct {
	protocol, profile string
	roles             []string
	strict, verbose   bool
	noColor           bool
	out, format       string
	failOn, durations []string

	limits *exchange.Limits // of --max-duration; nil without
}

// declareFlags defines the flags. out is the default folder.
func (o *judgingOptions) declareFlags(f *pflag.FlagSet, out string) {
	f.StringSliceVar(&o.roles, "role", nil,
		"`ROLE` to judge; may be repeated (default the first one of each side that the protocol has)")
	f.StringVar(&o.profile, "profile", "",
		"profile `FILE` with the server's names of messages and fields, for a URL")
	f.BoolVar(&o.strict, "strict", false, "count a broken SHOULD as a failure")
	f.StringSliceVar(&o.failOn, "fail-on", nil, "exit with 1 only for what is in `LIST`: must, should, ids of clauses, "+
		"or none (default must)")
	f.StringArrayVar(&o.durations, "max-duration", nil,
		"exit with 1 if a message of a type is answered later, `TYPE=TIME`, such as ping=2s; may be repeated")
	f.StringVar(&o.out, "out", out, "`DIR` for the results; created if missing")
	f.StringVar(&o.format, "format", defaultFormats, "reports to write, a comma-separated `LIST` of "+formatNames())
	f.BoolVar(&o.verbose, "verbose", false, "report every failure in full, observations, and clauses that do not "+
		"apply; name those that can be judged")
	f.BoolVar(&o.noColor, "no-color", false, "no colours, as with NO_COLOR in the environment")
}

// judgedRoles returns the roles of --role, or else those that are named, or the first of each side.
func (o *judgingOptions) judgedRoles(p steps.Protocol, named []string) ([]proxy.Role, error) {
	client, _ := steps.ClientOf(p)
	targets := slices.DeleteFunc(slices.Clone(o.roles), func(r string) bool { return client != "" && r == client })
	if err := knownRoles(targets, []string{steps.Name(p)}); err != nil {
		return nil, err
	}
	if slices.Contains(o.roles, everyRole) {
		o.roles = steps.Roles(p)
	}
	if len(o.roles) > 0 {
		named = o.roles
	}
	roles, err := proxy.RolesOf(p, named)
	if err != nil {
		return nil, usagef("--role: %v", err)
	}
	return roles, nil
}

// roleNames returns the names of roles.
func roleNames(roles []proxy.Role) (names []string) {
	for _, r := range roles {
		names = append(names, r.Name)
	}
	return names
}

// checkDemands checks --fail-on and --max-duration, for roles that are judged.
func (o *judgingOptions) checkDemands(p steps.Protocol, roles []proxy.Role) error {
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return err
	}
	var judged []string
	for _, r := range roles {
		judged = append(judged, r.Clauses()...)
	}
	levels := []string{reports.FailOnMust, reports.FailOnShould, reports.FailOnNone}
	for i, name := range o.failOn {
		same := func(known string) bool { return strings.EqualFold(known, name) }
		rows := ledger.Rows()
		at := slices.IndexFunc(rows, func(r verdict.Row) bool { return same(r.ID) })
		switch all := append(slices.Clone(levels), judged...); {
		case slices.ContainsFunc(all, same):
			o.failOn[i] = all[slices.IndexFunc(all, same)]
		case at >= 0:
			return usagef("--fail-on: what is judged does not show whether %s is kept (parley explain %s says what judges it)",
				rows[at].ID, rows[at].ID)
		default:
			return usagef("--fail-on: %q is neither %s nor a clause of %s%s", name, words.Either(levels), steps.Name(p),
				suggestWord(name, all, "parley list names the clauses"))
		}
	}
	if slices.Contains(o.failOn, reports.FailOnNone) && len(o.failOn) > 1 {
		return usagef("--fail-on: none stands alone (leave the others out)")
	}
	var limits []exchange.Limit
	for _, text := range o.durations {
		one, err := readLimit(p, text)
		if err != nil {
			return err
		}
		limits = append(limits, one)
	}
	if len(limits) > 0 {
		o.limits = exchange.NewLimits(limits...)
	}
	return nil
}

// readLimit reads a value of --max-duration.
func readLimit(p steps.Protocol, text string) (l exchange.Limit, err error) {
	at := strings.LastIndex(text, "=")
	if at < 1 {
		return l, usagef("--max-duration: %q has no type and time (write it like ping=2s)", text)
	}
	l.Type = text[:at]
	if l.Max, err = time.ParseDuration(text[at+1:]); err != nil || l.Max <= 0 {
		return l, usagef("--max-duration: %q is no time (write it like %s=2s)", text[at+1:], l.Type)
	}
	set, kind := messages.For(steps.Name(p)), p.Kind()
	byHTTP := slices.Contains(kind.Drivers, target.SSE) || slices.Contains(kind.Drivers, target.Browser)
	var timed []string
	for _, m := range set.List() {
		if set.Awaits(m.Type, true) || byHTTP && m.From != messages.Server {
			timed = append(timed, m.Type)
		}
	}
	known := func(from messages.Side) bool { return set.Find(l.Type, from) != nil }
	switch {
	case set == nil || l.Type == exchange.Connect || slices.Contains(timed, l.Type) || set.Awaits(l.Type, true):
		return l, nil
	case known(messages.Client) || known(messages.Server):
		return l, usagef("--max-duration: %s has no answer in %s (those that have: %s)", l.Type, kind.Protocol,
			strings.Join(append(timed, exchange.Connect), ", "))
	case byHTTP && l.Type == strings.ToUpper(l.Type): // the method of a request without a message
		return l, nil
	}
	return l, usagef("--max-duration: %s is no message of %s%s", l.Type, kind.Protocol,
		suggestWord(l.Type, timed, "they are "+strings.Join(append(timed, exchange.Connect), ", ")))
}

// collector returns what collects judgements. by is the driver in results and a part of the ids of scenarios; "": that
// of proxied traffic.
func (o judgingOptions) collector(roles []proxy.Role, by string, about runner.PassiveOptions) (*runner.Passive, error) {
	about.Protocols, about.Roles, about.Through, about.By = suite, roleNames(roles), by, by
	about.Strict, about.Out, about.Explain, about.Shown = o.strict, o.out, explaining(), proxy.EndedBy
	return runner.NewPassive(about)
}

// watchLimits has the exchanges of what passes timed, if there are limits. The returned function ends that.
func (o judgingOptions) watchLimits(opts *proxy.Options) (end func(), err error) {
	if o.limits == nil {
		return func() {}, nil
	}
	codec, err := proxy.CodecOf(opts.Protocol, opts.Profile, false, opts.To)
	if err != nil {
		return nil, err
	}
	add, end := o.limits.Watch(steps.Name(opts.Protocol), codec.Decoder())
	record := opts.Record
	opts.Record = func(r transcript.Record, redact *transcript.Redactor) {
		add(r)
		if record != nil {
			record(r, redact)
		}
	}
	return end, nil
}

// settle puts the limits into the results, and the exit code that they and --fail-on make, or another one that is not
// 0.
func (o judgingOptions) settle(res *reports.Results, other int) {
	res.FailOn = o.failOn
	if o.limits != nil {
		for _, t := range o.limits.Timed() {
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			l := reports.Limit{Type: t.Type, Limit: ms(t.Max), Exchanges: t.Exchanges, Late: t.Late, Slowest: ms(t.Slowest),
				Answered: t.Answered}
			if t.Exchanges > 0 {
				l.At = strings.TrimSpace(fmt.Sprintf("record %d %s", t.At.N, t.At.Conn))
			}
			res.Limits = append(res.Limits, l)
		}
	}
	switch {
	case other != 0:
		res.Exit = other
	case res.Exit == verdict.ExitHarness:
	case res.Fails():
		res.Exit = verdict.ExitNonConformant
	case res.Exit == verdict.ExitNonConformant:
		res.Exit = verdict.ExitConformant
	}
}

// writeReports writes the reports. The exit code of results.json is one that a run can have.
func (o judgingOptions) writeReports(asked []string, res *reports.Results, s *streams) error {
	code := res.Exit
	if !slices.Contains([]int{0, 1, 2, 3, 4, 5, 130}, code) {
		res.Exit = verdict.ExitConformant
		if res.Fails() {
			res.Exit = verdict.ExitNonConformant
		}
	}
	ro := runOptions{out: o.out, verbose: o.verbose, noColor: o.noColor}
	if err := ro.writeResults(asked, res, s); err != nil {
		return err
	}
	if code != verdict.ExitConformant {
		return exitError{code}
	}
	return nil
}

// announceClauses says which clauses of roles can be judged.
func (o judgingOptions) announceClauses(roles []proxy.Role, collect *runner.Passive, w io.Writer) {
	for _, r := range roles {
		judged, not := collect.Judgeable(r.Name)
		what := titleWithRole(o.protocol, r.Name)
		if len(judged) == 0 {
			fmt.Fprintf(w, "%s: judges nothing of the %v: all %d clauses need the harness to act\n", what, r.Side, len(not))
			continue
		}
		which := ""
		if o.verbose {
			which = " (" + strings.Join(judged, " ") + ")"
		}
		fmt.Fprintf(w, "%s: judges %s of the %v%s; %d need the harness to act\n", what,
			words.Counted(len(judged), "clause"), r.Side, which, len(not))
	}
}
