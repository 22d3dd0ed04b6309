package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/internal/words"
	"parley/reports"
	"parley/reports/certificate"
	"parley/reports/lang"
	"parley/runner"
	"parley/target"
)

// verifyOptions are the flags of parley verify.
type verifyOptions struct {
	certificate, results, artifact, kills string
	keys                                  []string
	rerun, out, lang                      string
	link                                  linkOptions // of rerun
}

func verifyCommand(s *streams) *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:   "verify CERTIFICATE",
		Short: "Check a certificate, and show what it claims",
		Long: `Check a certificate without a network: its signature, the digests of what --results and --artifact name,
that the suite is known, and that it has not expired; then say in plain words what it claims, and what it does not.

A signature shows that a certificate was not altered. Who signed it is known only with --public-key, the public key of
somebody you trust.

The kill matrix is compared with that of this program, or with --kills with one that parley mutants -o wrote: that of a
protocol of your own, which this program does not have.

With --target the target is judged again, by the same suite with the same options, and each clause is compared.

Exit 0 if nothing is wrong, 1 if something is.`,
		Example: `  parley verify certificate.json
  parley verify certificate.json --public-key acme.pub --results results.json --artifact my-server.tar.gz
  parley verify certificate.json --public-key acme.pub --target my.yaml`,
		Args: oneArg("verify", "a certificate"),
		RunE: func(c *cobra.Command, args []string) error {
			o.certificate = args[0]
			return runVerify(c.Context(), o, s)
		},
	}
	takeFolder(c)
	f := c.Flags()
	f.StringArrayVar(&o.keys, "public-key", nil, "public key `FILE` of somebody you trust; may be repeated (default any)")
	f.StringVar(&o.results, "results", "", "compare the results in `FILE`, and the transcripts beside it")
	f.StringVar(&o.artifact, "artifact", "", "compare the artifact in `FILE`")
	f.StringVar(&o.kills, "kills", "",
		"kill matrices `FILE` that parley mutants -o wrote (default those of this program)")
	f.StringVar(&o.rerun, "target", "", "judge the target `FILE|URL` again, and compare")
	f.StringVar(&o.out, "out", "parley-rerun", "`DIR` for the results of --target")
	declareLangOf(f, &o.lang, "what is found: en or zh; errors, and the report of --target, are in English")
	o.link.declareFlags(f)
	return c
}

func runVerify(ctx context.Context, o verifyOptions, s *streams) error {
	if flag := o.link.firstGiven(); flag != "" && o.rerun == "" {
		return usagef("%s: nothing connects to a target without --target (name the target by it, or leave %[1]s out)", flag)
	}
	l, err := parseLang(o.lang)
	if err != nil {
		return err
	}
	body, err := input.Read(o.certificate, certificate.MaxBytes)
	if err != nil {
		return usagef("%v", err)
	}
	facts, err := o.namedFacts(l)
	if err != nil {
		return err
	}
	known, err := knownSuite(o.kills)
	if err != nil {
		return err
	}
	cert, err := certificate.Open(body)
	if err != nil {
		fmt.Fprintln(s.Out, l.Say("%s: %s", l.Say("not valid"), escapeControl(err.Error())))
		return exitError{verdict.ExitNonConformant}
	}
	of := cert.Predicate.Target
	if _, there := known.Kills.Figures(of.Protocol, of.Role); o.kills != "" && !there {
		return noKills(o.kills, of.Protocol, of.Role)
	}
	checks := certificate.Verify(cert, known, facts)
	sound := certificate.Sound(checks)
	tellChecks(s.Out, cert, checks, sound, facts)
	if o.rerun != "" && sound {
		sound, err = o.judgeAgain(ctx, cert, s)
	}
	if err == nil && !sound {
		err = exitError{verdict.ExitNonConformant}
	}
	return err
}

// namedFacts are what the flags name.
func (o verifyOptions) namedFacts(l lang.Lang) (certificate.Facts, error) {
	f := certificate.Facts{Now: time.Now(), Dir: filepath.Dir(o.results), Lang: l}
	for _, name := range o.keys {
		h, err := readHolder(name)
		if err != nil {
			return f, err
		}
		f.Keys = append(f.Keys, h)
	}
	var err error
	if o.results != "" {
		if f.Results, err = input.Read(o.results, maxResults); err != nil {
			return f, usagef("--results: %v", err)
		}
	}
	f.Artifact, err = artifactDigest(o.artifact)
	return f, err
}

// readHolder reads a public key, whose holder is named after the file.
func readHolder(path string) (certificate.Holder, error) {
	pem, err := input.Read(path, maxKey)
	if err != nil {
		return certificate.Holder{}, usagef("--public-key: %v", err)
	}
	public, err := certificate.ParsePublic(pem)
	if err != nil {
		return certificate.Holder{}, usagef("--public-key: %s: %v", path, err)
	}
	base := filepath.Base(path)
	return certificate.Holder{Name: strings.TrimSuffix(base, filepath.Ext(base)), Public: public}, nil
}

// tellChecks prints what was found, and what the certificate claims.
func tellChecks(w io.Writer, cert *certificate.Certificate, checks []certificate.Check, sound bool,
	f certificate.Facts) {
	l := f.Lang
	word := l.Say("valid")
	if !sound {
		word = l.Say("not valid")
	}
	fmt.Fprintf(w, "%s\n\n", l.Say("%s: %s", word, escapeControl(cert.Predicate.Target.Title())))
	for _, c := range checks {
		lines := reports.Wrap(c.Text, textColumns)
		fmt.Fprintf(w, "%s %s %s\n", reports.Pad(l.Say(c.Name), 12), reports.Pad(l.Say(string(c.State)), 13), lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(w, "%-26s %s\n", "", line)
		}
	}
	if !sound {
		return // what it claims is worth nothing
	}
	tellList(w, l.Say("It claims:"), cert.Claims(l))
	tellList(w, l.Say("It does not claim:"), cert.NotClaimed(l, certificate.HolderOf(cert, f.Keys)))
}

const textColumns = 90

func tellList(w io.Writer, head string, lines []string) {
	fmt.Fprintf(w, "\n%s\n", head)
	for _, text := range lines {
		fmt.Fprintf(w, "  - %s\n", strings.Join(reports.Wrap(text, textColumns), "\n    "))
	}
}

// judgeAgain judges the target of a certificate once more, and prints where the outcomes differ. It reports whether
// they are as good.
func (o verifyOptions) judgeAgain(ctx context.Context, cert *certificate.Certificate, s *streams) (bool, error) {
	p := cert.Predicate
	if p.Suite.Digest != suite.Digest() {
		return false, usagef("--target: suite %s judged, and this program has %s (use the version of %s that has it)",
			p.Suite.Version, suite.Version, program)
	}
	again := runOptions{target: o.rerun, protocols: []string{p.Target.Protocol}, roles: []string{p.Target.Role},
		drivers: p.Target.Drivers, strict: p.Run.Strict, seed: p.Run.Seed, explore: p.Run.Explored,
		exploring: p.Run.Explored > 0, cutPoints: p.Run.CutPoints, out: o.out, format: formatNames(), link: o.link}
	runs, left, err := again.runnerOptions()
	if err == nil && len(runs) != 1 {
		err = usagef("--target: the target was not run%s", words.Either(left))
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
