package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/reports"
	"parley/reports/certificate"
	"parley/reports/lang"
	"parley/runner"
)

// certifyOptions are the flags of parley certify.
type certifyOptions struct {
	results, key, version, artifact, expires, kills, out, lang string
}

// Bounds of the files that certificates are made of.
const (
	maxKey     = 64 << 10
	maxResults = 1 << 30
	maxKills   = 16 << 20
)

func certifyCommand(s *streams) *cobra.Command {
	var o certifyOptions
	c := &cobra.Command{
		Use:   "certify RESULTS --signing-key KEY",
		Short: "Sign a certificate for a conformant run",
		Long: `Sign a certificate that a target conformed, from the results.json of a run and the transcripts beside it: an
in-toto statement in a DSSE envelope, and a page for people beside it. Nothing is run.

Only a conformant run of a whole suite is certified. A baseline, a filter, --allow-incomplete, --features,
--faults and bundled targets are refused, with the reason, and exit code 1.`,
		Example: `  parley keygen
  parley run --target my.yaml
  parley certify parley-results/results.json --signing-key parley.key --target-version 1.4.2 --artifact my-server.tar.gz
  parley verify parley-results/certificate.json --public-key parley.pub`,
		Args: oneArg("certify", "the results.json of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			o.results = args[0]
			return runCertify(c.Context(), o, s)
		},
	}
	takeFolder(c)
	f := c.Flags()
	f.StringVar(&o.key, "signing-key", "", "sign with the private key in `FILE`, which parley keygen wrote (required)")
	f.StringVar(&o.version, "target-version", "", "`VERSION` of the target that was judged "+
		"(default that of parley run --target-version)")
	f.StringVar(&o.artifact, "artifact", "",
		"built `FILE` of the target, such as an archive; its digest is certified")
	f.StringVar(&o.expires, "expires", "", "last `DAY` on which the certificate is valid, such as 2027-12-31 "+
		"(default a year after the run)")
	f.StringVar(&o.kills, "kills", "",
		"kill matrices `FILE` that parley mutants -o wrote (default those of this program)")
	f.StringVarP(&o.out, "output", "o", "", "`FILE` for the certificate; the page has the ending .html "+
		"(default certificate.json beside the results)")
	declareLangOf(f, &o.lang, "the page and of what is printed: en or zh; the certificate is the same in each")
	return c
}

// hasFolder rejects the name of a file in a folder that does not exist.
func hasFolder(flag, file string) error {
	info, err := os.Stat(filepath.Dir(file))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", filepath.Dir(file))
	}
	if err != nil {
		return usagef("%s: %v", flag, err)
	}
	return nil
}

// oneArg rejects other than one argument.
func oneArg(command, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s takes one argument, %s, and found %d (see %s --help)", command, what, len(args), c.CommandPath())
		}
		return nil
	}
}

func runCertify(ctx context.Context, o certifyOptions, s *streams) error {
	l, err := parseLang(o.lang)
	if err != nil {
		return err
	}
	if o.key == "" {
		return usagef("certify: --signing-key is missing (name a private key; parley keygen makes one)")
	}
	pem, err := input.Read(o.key, maxKey)
	if err != nil {
		return usagef("--signing-key: %v", err)
	}
	key, err := certificate.ParsePrivate(pem)
	if err != nil {
		return usagef("--signing-key: %s: %v", o.key, err)
	}
	if o.out == "" {
		o.out = filepath.Join(filepath.Dir(o.results), "certificate.json")
	}
	page := strings.TrimSuffix(o.out, filepath.Ext(o.out)) + ".html"
	if page == o.out {
		return usagef("--output: %s is the name of the page (choose another, such as certificate.json)", o.out)
	}
	mine := errors.Join(ownFile(o.out, certificate.PayloadType), ownFile(page, certificate.Mark))
	if err := errors.Join(hasFolder("--output", o.out), mine); err != nil {
		return err
	}
	raw, res, err := sealedResults(o.results)
	if err != nil {
		return err
	}
	if why := certificate.Refusals(res, time.Now()); len(why) > 0 {
		fmt.Fprintf(s.Err, "%s: not certified\n", program)
		for _, reason := range why {
			fmt.Fprintf(s.Err, "  - %s\n", escapeControl(reason))
		}
		return exitError{verdict.ExitNonConformant}
	}
	st, texts, err := o.makeStatement(raw, res, l)
	if err != nil {
		return err
	}
	signed, err := certificate.Sign(st, key)
	if err != nil {
		return err
	}
	cert, err := certificate.Open(signed)
	if err != nil {
		return fmt.Errorf("the certificate would not be valid: %w", err)
	}
	html, err := cert.HTML(certificate.Page{Now: time.Now(), File: filepath.Base(o.out), Texts: texts, Program: program,
		Lang: l})
	if err != nil {
		return err
	}
	if err := writeTogether(newFile{o.out, signed, 0o644}, newFile{page, html, 0o644}); err != nil {
		return err
	}
	return tellCertificate(cert, o.out, page, l, s)
}

func tellCertificate(cert *certificate.Certificate, file, page string, l lang.Lang, s *streams) error {
	p := cert.Predicate
	what := l.Say("%s: %s %s, suite %s", escapeControl(p.Target.Title()), p.Target.Protocol, p.Target.Role,
		p.Suite.Version)
	for _, line := range [][2]string{{l.Say("certificate"), file}, {l.Say("page"), page}, {l.Say("certified"), what},
		{l.Say("valid until"), p.Expires}, {l.Say("key id"), cert.KeyID}} {
		if _, err := fmt.Fprintf(s.Out, "%s %s\n", reports.Pad(line[0], 12), line[1]); err != nil {
			return err
		}
	}
	return nil
}

// sealedResults reads results.json, which must be as it was written.
func sealedResults(path string) ([]byte, *reports.Results, error) {
	raw, err := input.Read(path, maxResults)
	if err != nil {
		return nil, nil, usagef("%v", err)
	}
	res, err := reports.ReadJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, usagef("%s: %v", path, err)
	}
	if err := reports.CheckSeal(raw); err != nil {
		return nil, nil, usagef("%s: %v (run again)", path, err)
	}
	return raw, res, nil
}

// makeStatement makes the statement, and returns the texts of the clauses. The error says what does not fit together.
func (o certifyOptions) makeStatement(raw []byte, res *reports.Results, l lang.Lang) (*certificate.Statement,
	map[string]string, error) {
	run := res.Runs[0]
	if _, err := suite.Find(run.Protocol); err != nil {
		return nil, nil, usagef("%s: %v (%s)", o.results, err, inFolder(run.Protocol))
	}
	if mine := (reports.Suite{Version: suite.Version, Digest: suite.Digest()}); res.Suite != mine {
		return nil, nil, usagef("%s: suite %s (%s) judged, and this program has %s (%s): certify with the program that ran",
			o.results, res.Suite.Version, res.Suite.Digest, mine.Version, mine.Digest)
	}
	known, err := runner.Clauses(suite, run.Protocol, run.Role)
	if err == nil {
		err = certificate.Audit(res, known)
	}
	if err != nil {
		return nil, nil, usagef("%s: %v: it was altered", o.results, err)
	}
	if told := run.Target.Version; o.version != "" && told != "" && told != o.version {
		return nil, nil, usagef("--target-version: %s was judged, not %s (leave it out)", told, o.version)
	}
	files := certificate.Files(res)
	if err := certificate.CheckFiles(filepath.Dir(o.results), files); err != nil {
		return nil, nil, usagef("%s: %v", o.results, err)
	}
	root, err := certificate.Root(files)
	if err != nil {
		return nil, nil, err
	}
	sum, err := certificate.DigestOf(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, err
	}
	kills, err := o.killFigures(run.Protocol, run.Role)
	if err != nil {
		return nil, nil, err
	}
	options := certificate.Options{Version: cmp.Or(o.version, run.Target.Version), Issued: time.Now().UTC()}
	if options.Expires, err = o.lastDay(res.Started); err != nil {
		return nil, nil, err
	}
	if options.Artifact, err = artifactDigest(o.artifact); err != nil {
		return nil, nil, err
	}
	return certificate.New(res, sum, root, kills, options), certificate.Texts(known, l), nil
}

// lastDay returns the last day on which the certificate is valid.
func (o certifyOptions) lastDay(started time.Time) (string, error) {
	if o.expires == "" {
		return started.UTC().AddDate(1, 0, 0).Format(time.DateOnly), nil
	}
	t, err := time.Parse(time.DateOnly, o.expires)
	switch {
	case err != nil:
		return "", usagef("--expires: %q is not a day (such as 2027-12-31)", o.expires)
	case !time.Now().Before(t.AddDate(0, 0, 1)):
		return "", usagef("--expires: %s is over", o.expires)
	}
	return o.expires, nil
}

// artifactDigest returns the name and the digest of a file of any length; nil for "".
func artifactDigest(path string) (*certificate.Subject, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, usagef("--artifact: %v", err)
	case !info.Mode().IsRegular():
		return nil, usagef("--artifact: %s is not a file (name the archive or program that was judged)", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("--artifact: %v", err)
	}
	defer f.Close()
	sum, err := certificate.DigestOf(f)
	if err != nil {
		return nil, usagef("--artifact: %v", err)
	}
	return &certificate.Subject{Name: filepath.Base(path), Digest: certificate.Digest{SHA256: sum}}, nil
}

// killFigures returns the figures of the kill matrix of a role; nil if the program has no mutants.
func (o certifyOptions) killFigures(protocol, role string) (*certificate.KillFigures, error) {
	all, err := knownKills(o.kills)
	if err != nil {
		return nil, err
	}
	if all == nil && len(bundle) == 0 {
		return nil, nil
	}
	if all == nil {
		return nil, usagef("certify: this program has no kill matrices (%s)", mendKills)
	}
	if all.Suite != (reports.Suite{Version: suite.Version, Digest: suite.Digest()}) {
		return nil, usagef("--kills: %s has the proofs of suite %s (%s), and not of the one that judged, %s (%s)", o.kills,
			all.Suite.Version, all.Suite.Digest, suite.Digest(), mendKills)
	}
	figures, ok := all.Figures(protocol, role)
	if !ok && o.kills == "" && folders[protocol] != "" {
		return nil, usagef("certify: nothing shows yet that the scenarios of %s find faults "+
			"(parley mutants --protocol %[1]s -o kills.json, and --kills kills.json)", folders[protocol])
	}
	if !ok && o.kills == "" {
		return nil, usagef("certify: this build of %s is incomplete, and your run is not to blame: it has no proofs of the "+
			"suite of %s as it judged (%s)", program, titleWithRole(protocol, role), mendKills)
	}
	if !ok {
		return nil, noKills(o.kills, protocol, role)
	}
	return figures, nil
}

const mendKills = "parley mutants -o kills.json makes them, and --kills kills.json names them"

// noKills says that a file lacks the kill matrix of a role.
func noKills(file, protocol, role string) error {
	return usagef("--kills: %s has no kill matrix of %s as it is in this program (%s)", file,
		titleWithRole(protocol, role), mendKills)
}

// knownKills returns the kill matrices in a file, or those of this program; nil if it has none.
func knownKills(file string) (*certificate.Kills, error) {
	if file == "" {
		return ownKills()
	}
	b, err := input.Read(file, maxKills)
	if err != nil {
		return nil, usagef("--kills: %v", err)
	}
	all, err := presentKills(b)
	if err != nil {
		return nil, usagef("--kills: %v", err)
	}
	return all, nil
}

// ownKills returns the kill matrices of this program; nil if it has none.
func ownKills() (*certificate.Kills, error) {
	if len(kills) == 0 {
		return nil, nil
	}
	all, err := presentKills(kills)
	return all, err
}

// presentKills reads kill matrices without those that say that they are of other scenarios, clauses or mutants than
// this program has.
func presentKills(b []byte) (*certificate.Kills, error) {
	all, err := certificate.ReadKills(b)
	if err != nil {
		return nil, err
	}
	if all.Suite != (reports.Suite{}) { // it says so of all roles
		return all, nil
	}
	all.Suite = reports.Suite{Version: suite.Version, Digest: suite.Digest()}
	all.Roles = slices.DeleteFunc(all.Roles, func(r certificate.RoleKills) bool {
		now, err := provedNow(r.Protocol, r.Role)
		return err != nil || now != r.Of // an unknown protocol is another suite's
	})
	return all, nil
}

// provedNow returns what a kill matrix of a role made by this program is of.
func provedNow(protocol, role string) (string, error) {
	return runner.ProofDigest(suite, protocol, role, bundle.Mutants(suite.Kinds(), protocol, role))
}

// knownSuite is what this program knows of suites, with the kill matrices of a file if one is named.
func knownSuite(file string) (certificate.Suite, error) {
	all, err := knownKills(file)
	return certificate.Suite{Suite: reports.Suite{Version: suite.Version, Digest: suite.Digest()}, Released: released,
		Clauses: func(protocol, role string) ([]reports.Clause, error) { return runner.Clauses(suite, protocol, role) },
		Kills:   all, KillsFile: file, Mutants: len(bundle) > 0}, err
}

func keygenCommand(s *streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "keygen",
		Short: "Make a key that signs certificates",
		Long: `Make an Ed25519 key that signs certificates, and write it in PEM: the private key, readable only by you, and
beside it the public one (.pub), which others need to check that a certificate is yours. Existing files are not
replaced.`,
		Example: `  parley keygen
  parley keygen --output keys/release.key`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return runKeygen(out, s) },
	}
	c.Flags().StringVarP(&out, "output", "o", "parley.key",
		"`FILE` for the private key; the public one has the ending .pub")
	return c
}

func runKeygen(out string, s *streams) error {
	public := strings.TrimSuffix(out, filepath.Ext(out)) + ".pub"
	if public == out {
		return usagef("--output: %s is the name of the public key (choose another, such as parley.key)", out)
	}
	if err := hasFolder("--output", out); err != nil {
		return err
	}
	for _, name := range []string{out, public} {
		if _, err := os.Lstat(name); err == nil {
			return usagef("keygen: %s exists, and a key is not replaced (name another file with --output)", name)
		}
	}
	private, pub, err := certificate.NewKey()
	if err != nil {
		return err
	}
	holder, err := certificate.ParsePublic(pub)
	if err != nil {
		return err
	}
	if err := writeNew(newFile{out, private, 0o600}, newFile{public, pub, 0o644}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "private key  %s  keep it secret\npublic key   %s\nkey id       %s\n", out, public,
		certificate.KeyID(holder))
	return err
}

// writeNew writes files that must not exist yet, all or none.
func writeNew(files ...newFile) error {
	var made []string
	for _, f := range files {
		w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
		if err == nil {
			made = append(made, f.path)
			_, err = w.Write(f.body)
			err = errors.Join(err, w.Sync(), w.Close())
		}
		if err != nil {
			for _, name := range made {
				_ = os.Remove(name)
			}
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	return nil
}
