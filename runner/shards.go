package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
	"parley/transport/transcript"
)

// Shard is a part of a run: each scenario belongs to one of Count parts, by its place among the sorted ids. Preflight
// runs in all of them. The zero Shard is the whole.
type Shard struct{ Index, Count int } // Index counts from 1

// ParseShard reads a shard such as 2/4.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(count)
	if !ok || errI != nil || errN != nil || i < 1 || n < 1 || i > n {
		return Shard{}, &UsageError{Msg: fmt.Sprintf("%q is not a shard (write it like 2/4, the second of four)", text)}
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("shard %d of %d", s.Index, s.Count) }

// shardResult is the shard in results; nil for the whole.
func (s Shard) shardResult() *reports.Shard {
	if s.Count == 0 {
		return nil
	}
	return &reports.Shard{Index: s.Index, Count: s.Count}
}

// keepShard leaves in the plans of all drivers what belongs to the shard. A scenario is in the same shard over every
// driver, so that its courses can be compared.
func (s Shard) keepShard(drivers []*driverRun) {
	if s.Count == 0 {
		return
	}
	var ids []string
	for _, d := range drivers {
		for _, pl := range d.plan {
			if pl.Stage == rest {
				ids = append(ids, pl.ID)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, d := range drivers {
		d.plan = slices.DeleteFunc(d.plan, func(pl Planned) bool {
			at, _ := slices.BinarySearch(ids, pl.ID)
			return pl.Stage == rest && at%s.Count != s.Index-1
		})
		d.suite = len(d.plan)
		d.byKey = map[string]Planned{}
		for _, pl := range d.plan {
			d.byKey[pl.key] = pl
		}
	}
}

// checkShard rejects what cannot be divided, or not yet.
func checkShard(o Options) error {
	why := ""
	switch {
	case o.Shard.Count == 0:
		return nil
	case o.Explore > 0 || o.CutPoints:
		why = "random sequences and cut points are not divided: run them apart"
	case o.Baseline != nil:
		why = "a baseline is about the whole: give it to the merge"
	case len(o.Own) > 0:
		why = "scenarios of your own are not divided: run them apart"
	case o.Faults != nil:
		why = "a run with injected faults is not divided"
	}
	if why != "" {
		return &UsageError{Msg: "a shard is a part of the suite: " + why}
	}
	return nil
}

// everyJudgement returns the judgements of a shard for the merge; nil for a whole run, whose clauses have all.
func (r *run) everyJudgement() []reports.Judged {
	if r.o.Shard.Count == 0 {
		return nil
	}
	out := []reports.Judged{}
	for _, j := range r.judged {
		out = append(out, reports.Judged{Clause: j.Clause, Driver: j.Driver, Scenario: j.Scenario, Monitor: j.Monitor,
			Outcome: j.Outcome, Reason: r.redact.String(j.Reason), Unfinished: j.Unfinished})
	}
	slices.SortFunc(out, reports.CompareJudged)
	return out
}

// Part is a shard's results.
type Part struct {
	Name    string // for messages, such as the path of the file
	Results *reports.Results
}

// JoinOptions are the options that a single run would have had besides those of its shards.
type JoinOptions struct {
	Protocols *steps.Protocols
	Baseline  func(protocol string) *verdict.Baseline // nil: none
}

// Join puts the shards of one run together: the verdict is that of a single run with the same judgements. Preflight ran
// in every shard, and its worst outcome counts. Joined.From says where the transcripts are. The error, a *UsageError,
// names the parts that do not belong together, overlap or are missing.
func Join(parts []Part, o JoinOptions) (*Joined, error) {
	if err := checkShards(parts, suiteOf(o.Protocols)); err != nil {
		return nil, err
	}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.Results.Shard.Index, b.Results.Shard.Index) })
	out := &Joined{names: map[[3]string]string{}}
	var all []*reports.Results
	for i := range parts[0].Results.Runs {
		one, err := out.joinRun(parts, i, o)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	out.Results = Merge(all...)
	return out, nil
}

// Joined are the results of a run that was divided into shards.
type Joined struct {
	Results *reports.Results

	names map[[3]string]string
}

// From names the part that has the transcript of a scenario of a run.
func (j *Joined) From(run int, sc reports.Scenario) string {
	return j.names[[3]string{fmt.Sprint(run), sc.Driver, sc.ID}]
}

// joinRun joins the shards of one run of a command.
func (j *Joined) joinRun(parts []Part, at int, o JoinOptions) (*reports.Results, error) {
	first := parts[0].Results
	target := first.Runs[at]
	p, err := o.Protocols.Find(target.Protocol)
	if err != nil {
		return nil, &UsageError{Msg: err.Error()}
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	suite, err := Scenarios(p.Features(), p)
	if err != nil {
		return nil, err
	}
	r := &run{o: Options{Protocols: o.Protocols, Strict: first.Strict, AllowIncomplete: first.Options.AllowIncomplete},
		protocol: p, role: target.Role, ledger: ledger, concerned: rolesByClause(p, suite),
		redact: transcript.NewRedactor()} // shards are redacted
	if o.Baseline != nil {
		r.o.Baseline = o.Baseline(target.Protocol)
	}
	if err := checkBaseline(r.o.Baseline, ledger, p); err != nil {
		return nil, err
	}
	one := reports.Run{Protocol: target.Protocol, Role: target.Role, Target: target.Target}
	end := time.Time{}
	started := first.Started
	for _, part := range parts {
		res := part.Results
		from := res.Runs[at]
		r.broken = r.broken || res.Exit == verdict.ExitHarness
		one.Environment = cmp.Or(one.Environment, from.Environment)
		one.TargetStderr = cmp.Or(one.TargetStderr, from.TargetStderr)
		for _, n := range from.Notes {
			if !slices.Contains(one.Notes, n) {
				one.Notes = append(one.Notes, n)
			}
		}
		for _, judged := range from.Judged {
			r.judged = append(r.judged, verdict.Judgement{Clause: judged.Clause, Driver: judged.Driver,
				Scenario: judged.Scenario, Monitor: judged.Monitor, Outcome: judged.Outcome, Reason: judged.Reason,
				Unfinished: judged.Unfinished})
		}
		j.addShard(&one, from.Scenarios, part.Name, at)
		if res.Started.Before(started) {
			started = res.Started
		}
		if e := hasEnded(res); e.After(end) {
			end = e
		}
	}
	inOrder(one.Scenarios, target.Target.Drivers, suite)
	return r.concludeJoined(one, first, started, end.Sub(started)), nil
}

// concludeJoined sums the joined run up as report does.
func (r *run) concludeJoined(one reports.Run, first *reports.Results, started time.Time,
	took time.Duration) *reports.Results {
	one.Clauses = r.clauseOutcomes(one.Scenarios)
	one.Baseline = r.applyBaseline(one.Clauses)
	excuseClauses(one.Scenarios, one.Clauses)
	one.Totals = countTotals(one.Clauses, one.Scenarios)
	one.Causes = reports.FindCauses(&one, first.Strict)
	selection := wholeSelection(first)
	v, exit := r.decideVerdict(&one, selection != "")
	one.Verdict = v
	options := *first.Options
	options.Shards, options.Baseline = first.Shard.Count, r.o.Baseline != nil
	return &reports.Results{Schema: reports.SchemaID, Suite: first.Suite, Options: &options, Verdict: v, Exit: exit,
		Selection: selection, Strict: first.Strict, Seed: first.Seed, Started: started, Duration: millis(took),
		Runs: []reports.Run{one}}
}

// wholeSelection is what narrowed the run, apart from its division into shards.
func wholeSelection(r *reports.Results) string {
	shard := Shard{r.Shard.Index, r.Shard.Count}.String()
	parts := slices.DeleteFunc(strings.Split(r.Selection, "; "), func(part string) bool { return part == shard })
	return strings.Join(parts, "; ")
}

// addShard adds the scenarios of a shard. Of one that ran in several, the worst outcome stays.
func (j *Joined) addShard(one *reports.Run, scenarios []reports.Scenario, name string, at int) {
	for _, sc := range scenarios {
		key := [3]string{fmt.Sprint(at), sc.Driver, sc.ID}
		i := slices.IndexFunc(one.Scenarios, func(have reports.Scenario) bool {
			return have.ID == sc.ID && have.Driver == sc.Driver
		})
		switch {
		case i < 0:
			one.Scenarios = append(one.Scenarios, sc)
		case verdict.Worse(sc.Outcome, one.Scenarios[i].Outcome):
			one.Scenarios[i] = sc
		default:
			continue
		}
		j.names[key] = name
	}
}

// inOrder sorts scenarios as in a single run: by driver, then as in the suite.
func inOrder(scenarios []reports.Scenario, drivers []string, suite []Planned) {
	place := map[string]int{}
	for i, pl := range suite {
		place[pl.ID] = i
	}
	slices.SortStableFunc(scenarios, func(a, b reports.Scenario) int {
		return cmp.Or(cmp.Compare(slices.Index(drivers, a.Driver), slices.Index(drivers, b.Driver)),
			cmp.Compare(place[a.ID], place[b.ID]))
	})
}

// checkShards checks that the parts are all the shards of one run, judged by the suite of this program.
func checkShards(parts []Part, suite reports.Suite) error {
	if len(parts) == 0 {
		return &UsageError{Msg: "there is nothing to merge"}
	}
	refuse := func(format string, args ...any) error { return &UsageError{Msg: fmt.Sprintf(format, args...)} }
	first := parts[0]
	by := map[int]string{}
	for _, p := range parts {
		r := p.Results
		switch {
		case r.Shard == nil || r.Options == nil:
			return refuse("%s is not a shard (parley run --shard 1/2 makes one)", p.Name)
		case r.Suite != suite:
			return refuse("%s was judged by suite %s (%s), and this program has %s (%s) (merge with the program that judged)",
				p.Name, r.Suite.Version, r.Suite.Digest, suite.Version, suite.Digest)
		case strings.Contains(r.Selection, beforeFailure):
			return refuse("%s was ended by --fail-fast (run this shard without it)", p.Name)
		case r.Partial:
			return refuse("%s was interrupted (run this shard again)", p.Name)
		case r.Shard.Count != first.Results.Shard.Count:
			return refuse("%s is a shard of %d, and %s of %d", first.Name, first.Results.Shard.Count, p.Name, r.Shard.Count)
		case by[r.Shard.Index] != "":
			return refuse("%s and %s are both shard %d of %d (give each once)", by[r.Shard.Index], p.Name, r.Shard.Index,
				r.Shard.Count)
		}
		if what := shardDifference(first.Results, r); what != "" {
			return refuse("%s and %s are not of one run: they differ in %s", first.Name, p.Name, what)
		}
		by[r.Shard.Index] = p.Name
	}
	var missing []string
	for i := 1; i <= first.Results.Shard.Count; i++ {
		if by[i] == "" {
			missing = append(missing, fmt.Sprintf("%d/%d", i, first.Results.Shard.Count))
		}
	}
	if len(missing) > 0 {
		return refuse("shard %s is missing (a part says nothing about the whole)", strings.Join(missing, ", "))
	}
	return nil
}

// shardDifference says what the shards of one run cannot differ in; "" if they do not.
func shardDifference(a, b *reports.Results) string {
	switch {
	case wholeSelection(a) != wholeSelection(b):
		return "what was selected"
	case a.Strict != b.Strict:
		return "--strict"
	case a.Seed != b.Seed:
		return "--seed"
	case a.Options.AllowIncomplete != b.Options.AllowIncomplete:
		return "--allow-incomplete"
	case len(a.Runs) != len(b.Runs):
		return "their protocols"
	}
	for i := range a.Runs {
		x, y := a.Runs[i], b.Runs[i]
		s, t := x.Target, y.Target
		switch {
		case x.Protocol != y.Protocol:
			return "their protocols"
		case x.Role != y.Role:
			return "the role of their targets"
		case s.Name != t.Name, s.Version != t.Version, s.Origin != t.Origin,
			s.Origin == reports.FromAddress && s.URL != t.URL:
			return fmt.Sprintf("their targets: %s and %s", describeTarget(s), describeTarget(t))
		case s.ProfileDigest != t.ProfileDigest, !slices.Equal(s.Capabilities, t.Capabilities):
			return fmt.Sprintf("their profiles: %s and %s", s.Profile, t.Profile)
		case !slices.Equal(s.Drivers, t.Drivers):
			return "their drivers"
		case s.Insecure != t.Insecure:
			return "--insecure"
		}
	}
	return ""
}

func describeTarget(t reports.Target) string {
	return strings.TrimSpace(strings.Join([]string{t.Name, t.Version, t.URL}, " "))
}
