package cli

import (
	"context"
	"fmt"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports"
	"parley/reports/certificate"
	"parley/runner"
	"parley/target"
)

// again judges the target of a certificate once more, and prints where the outcomes differ. It reports whether they
// are as good.
func (o verifyOptions) again(ctx context.Context, cert *certificate.Certificate, s *streams) (bool, error) {
	p := cert.Predicate
	if p.Suite.Digest != suite.Digest() {
		return false, usagef("--rerun: suite %s judged, and this program has %s (use the version of %s that has it)",
			p.Suite.Version, suite.Version, program)
	}
	again := runOptions{target: o.rerun, protocols: []string{p.Target.Protocol}, roles: []string{p.Target.Role},
		drivers: p.Target.Drivers, strict: p.Run.Strict, seed: p.Run.Seed, explore: p.Run.Explored,
		exploring: p.Run.Explored > 0, cutPoints: p.Run.CutPoints, out: o.out, format: formatNames(), link: o.link}
	runs, left, err := again.runs()
	if err == nil && len(runs) != 1 {
		err = usagef("--rerun: the target was not run%s", words.Either(left))
	}
	if err == nil {
		err = prepareOut(o.out)
	}
	if err != nil {
		return false, err
	}
	limited, cancel := runner.WithDeadline(ctx, 0, runs...)
	defer cancel()
	res, err := runner.RunAll(limited, runs...)
	if err != nil {
		return false, err
	}
	unwritten := writeFiles(o.out, []string{jsonFormat, "junit", "html"}, res, o.out, "")
	return tellRerun(s, cert, res, runs[0].Profile, o.out) && unwritten == nil, unwritten
}

// tellRerun prints how a run compares with a certificate, and reports whether it is as good.
func tellRerun(s *streams, cert *certificate.Certificate, res *reports.Results, p *target.Profile, out string) bool {
	fmt.Fprintf(s.Out, "\nRun again: %s, results in %s\n", res.Verdict, out)
	if d := cert.Predicate.Target.ProfileDigest; d != p.Digest {
		fmt.Fprintln(s.Out, "  the profile is not the one that was certified")
	}
	is := map[string]verdict.Outcome{}
	for _, c := range res.Runs[0].Clauses {
		is[c.ID] = c.Outcome
	}
	differ := 0
	for _, c := range cert.Predicate.Clauses {
		if is[c.ID] != c.Outcome {
			differ++
			fmt.Fprintf(s.Out, "  %s  certified %s, now %s\n", c.ID, c.Outcome, is[c.ID])
		}
	}
	if differ == 0 {
		fmt.Fprintf(s.Out, "  all %s have the outcome that was certified\n", words.Counted(len(is), "clause"))
	}
	return differ == 0 && res.Verdict == verdict.Conformant
}
