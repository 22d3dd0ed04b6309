package parley

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/runner"
	"parley/steps"
	"parley/steps/pack"
	"parley/steps/protocols"
)

// Option changes a run. If an option is given twice, the last one counts.
type Option func(*settings)

// settings are what the options of a run say.
type settings struct {
	protocol, role  string
	folder          string // of the protocol
	suite           *steps.Protocols
	drivers         []string
	tags            string
	baseline        string // a file
	text            string // of the profile
	out             string
	allowIncomplete bool
	complete        bool
}

func settingsOf(opts []Option) (s settings) {
	s.suite = protocols.All
	for _, o := range opts {
		o(&s)
	}
	return s
}

// Tags selects scenarios by a tag expression, as `parley run --tags` does: "@AS-080", "@MUST and not @exclusive",
// "@4.1".
func Tags(expr string) Option { return func(s *settings) { s.tags = expr } }

// Protocol names the protocol of a target that does not name its own, such as "session-chat".
func Protocol(name string) Option { return func(s *settings) { s.protocol = name } }

// ProtocolDir takes the protocol of a target from a folder, as `parley run --protocol ./my-protocol` does
// (docs/your-own-protocol.md).
func ProtocolDir(folder string) Option { return func(s *settings) { s.folder = folder } }

// Role names the party under test, if targets of the protocol have several roles. By default it is that of the profile,
// or else the protocol's first.
func Role(name string) Option { return func(s *settings) { s.role = name } }

// Driver names the transports to judge over, such as "sse" and "ws". By default they are those of the profile, or else
// the protocol's first.
func Driver(names ...string) Option { return func(s *settings) { s.drivers = names } }

// Baseline reads the clauses that are known to fail from a file, as `parley run --baseline` does. Their failures are
// expected; a clause of the file that passes again is a failure.
func Baseline(file string) Option { return func(s *settings) { s.baseline = file } }

// Settings describes a server of this process further, in the YAML of a profile without url and command: capabilities,
// limits, names of messages and fields.
func Settings(yaml string) Option { return func(s *settings) { s.text = yaml } }

// Out keeps results.json, report.html, transcripts and other evidence in a folder. What an earlier run left there is
// removed.
func Out(dir string) Option { return func(s *settings) { s.out = dir } }

// AllowIncomplete makes the exit code of an incomplete run 0, as `parley run --allow-incomplete` does. The verdict
// remains "incomplete".
func AllowIncomplete() Option { return func(s *settings) { s.allowIncomplete = true } }

// RequireComplete makes [Test] fail if a binding clause of the selected scenarios was not tested. Without it, such
// clauses are logged.
func RequireComplete() Option { return func(s *settings) { s.complete = true } }

// UsageError says that a run is impossible as it was asked for. Nothing was run.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

func usagef(format string, args ...any) error { return &UsageError{Msg: fmt.Sprintf(format, args...)} }

// options returns the runner's options for a target.
func (s settings) options(t Target) (runner.Options, error) {
	if s.folder != "" {
		with, p, err := pack.Join(s.suite, s.folder)
		switch {
		case err != nil:
			return runner.Options{}, usagef("parley.ProtocolDir: %v", err)
		case s.protocol != "" && s.protocol != steps.Name(p):
			return runner.Options{}, usagef("parley.Protocol(%q): the protocol of parley.ProtocolDir(%q) is %s (leave one out)",
				s.protocol, s.folder, steps.Name(p))
		}
		s.suite, s.protocol = with, steps.Name(p)
	}
	p, launcher, err := s.resolveTarget(t)
	if err != nil {
		return runner.Options{}, err
	}
	if s.role != "" {
		if p.Role = s.role; !slices.Contains(p.Kind().Roles, s.role) {
			return runner.Options{}, usagef("parley.Role(%q): %s has no such role (known: %q)", s.role, p.Protocol,
				p.Kind().Roles)
		}
	}
	if launcher != nil && p.Dials() {
		return runner.Options{}, usagef("parley.%s: a target of %s in the role %s connects to the harness, and is no server "+
			"(give a parley.Profile)", t.name, p.Protocol, p.Role)
	}
	known, err := s.baselineFor(p.Protocol)
	if err != nil {
		return runner.Options{}, err
	}
	again := "parley run --protocol " + cmp.Or(folderName(s.folder), p.Protocol)
	switch {
	case t.profile != "":
		again += " --target " + t.profile
	case t.url != "":
		again += " --target " + t.url
	}
	return runner.Options{Protocols: s.suite, Profile: p, Launcher: launcher, Role: p.Role, Drivers: s.drivers,
		Tags: s.tags, Baseline: known, AllowIncomplete: s.allowIncomplete, Out: s.out, Again: again}, nil
}

// folderName returns a folder as a command line names it: with a separator, as it is the id of a protocol otherwise.
func folderName(folder string) string {
	if folder == "" || strings.ContainsRune(folder, os.PathSeparator) || strings.HasPrefix(folder, ".") {
		return folder
	}
	return "." + string(os.PathSeparator) + folder
}

// maxBaseline bounds the file of a baseline, in bytes.
const maxBaseline = 1 << 20

// baselineFor returns the rows of the baseline that are about a protocol; nil without a baseline.
func (s settings) baselineFor(protocol string) (*verdict.Baseline, error) {
	if s.baseline == "" {
		return nil, nil
	}
	text, err := input.Read(s.baseline, maxBaseline)
	if err != nil {
		return nil, usagef("parley.Baseline: %v", err)
	}
	all, err := verdict.ParseBaseline(text)
	if err != nil {
		return nil, usagef("parley.Baseline: %s: %v", s.baseline, err)
	}
	mine := &verdict.Baseline{}
	for _, row := range all.Expected {
		home := false
		for _, p := range s.suite.All {
			ledger, err := steps.LedgerOf(p)
			if err != nil {
				return nil, err
			}
			if _, has := ledger.Row(row.Clause); !has {
				continue
			}
			if home = true; steps.Name(p) == protocol {
				mine.Expected = append(mine.Expected, row)
			}
		}
		if !home {
			return nil, usagef("parley.Baseline: %s: no protocol has a clause %s", s.baseline, row.Clause)
		}
	}
	return mine, nil
}
