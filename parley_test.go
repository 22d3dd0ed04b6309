// Package parley_test is the entry point for plain Go: `go test .` runs the features against the bundled server, or
// against $PARLEY_TARGET (a URL or a profile), with godog's own flags. The directory test has the suites against
// targets that are faulty, unusual, overloaded, or in another language.
package parley_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cucumber/godog"
	"go.uber.org/goleak"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// stock are godog's own flags: go test . --godog.tags='@AS-042' --godog.format=pretty
var stock = godog.Options{Format: "", Strict: true}

func init() { godog.BindFlags("godog.", flag.CommandLine, &stock) }

func TestMain(m *testing.M) {
	bundled.All.Child()
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// namedTarget returns PARLEY_TARGET; "" if it is not set. An empty value is an error, so that it does not silently
// select the bundled targets.
func namedTarget() (string, error) {
	name, given := os.LookupEnv("PARLEY_TARGET")
	if given && strings.TrimSpace(name) == "" {
		return "", errors.New("PARLEY_TARGET is empty (give a profile or a URL, or unset it for the bundled targets)")
	}
	return name, nil
}

func TestEmptyTarget(t *testing.T) {
	t.Setenv("PARLEY_TARGET", "")
	if name, err := namedTarget(); err == nil {
		t.Errorf("an empty PARLEY_TARGET is taken for %q", name)
	}
}

// subjects are the targets of the features: PARLEY_TARGET, or the bundled servers.
func subjects(t *testing.T) []runner.Options {
	t.Helper()
	name, err := namedTarget()
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		var all []runner.Options
		for _, protocol := range bundled.All.Protocols() {
			for _, role := range protocols.All.Roles(protocol) {
				all = append(all, suitetest.Bundled(protocol, role))
			}
		}
		return all
	}
	var p *target.Profile
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		p, err = protocols.Kinds().ForURL("agent-select", name)
	} else {
		p, err = protocols.Kinds().Load(name)
	}
	if err != nil {
		t.Fatalf("PARLEY_TARGET: %v", err)
	}
	return []runner.Options{{Protocols: protocols.All, Profile: p, Again: "parley run --target " + name}}
}

// format returns the requested godog format. Without one godog prints nothing, and failures are reported in Parley's
// own format.
func format() string {
	asked := ""
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "godog.format" || f.Name == "godog.f" {
			asked = stock.Format
		}
	})
	return asked
}

// TestFeatures runs the suite. PARLEY_ALLOW_INCOMPLETE=1 accepts untested binding clauses, for a target without a
// model stub or hooks; so does a selection by --godog.tags.
func TestFeatures(t *testing.T) {
	var mu sync.Mutex
	judged := 0
	whole := stock.Tags == "" && len(stock.Paths) == 0 && os.Getenv("PARLEY_TARGET") == ""
	judges := judgings{}
	t.Cleanup(func() { // after all protocols
		if whole {
			judges.compare(t)
		}
		if judged == 0 {
			t.Error("nothing was judged: the selection selects no scenario")
		}
	})
	for _, o := range subjects(t) {
		o.Godog = runner.GodogOptions{Format: format(), Tags: stock.Tags, Paths: of(o.Profile.Protocol, stock.Paths)}
		o.AllowIncomplete = os.Getenv("PARLEY_ALLOW_INCOMPLETE") == "1" || stock.Tags != "" || len(stock.Paths) > 0
		if len(stock.Paths) > 0 && len(o.Godog.Paths) == 0 {
			continue // the selection belongs to another protocol
		}
		t.Run(suitetest.Name(o.Profile), func(t *testing.T) {
			if o.Godog.Format == "" { // a format prints during the run
				suitetest.AwaitTurnOn(t, o.Profile.Protocol)
			}
			res, err := runner.Run(context.Background(), o)
			var usage *runner.UsageError
			if errors.As(err, &usage) && stock.Tags != "" {
				t.Logf("nothing here: %v", err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			judged++
			if res.Exit != 0 {
				t.Errorf("verdict %s, exit %d\n%s", res.Verdict, res.Exit, suitetest.Console(t, res))
			}
			if whole {
				judges.take(t, o.Profile.Protocol, res)
			}
			t.Logf("verdict %s over %d scenarios", res.Verdict, res.Runs[0].Totals.Scenarios.Total)
		})
	}
}

// of returns the feature files in a protocol's folder.
func of(protocol string, paths []string) []string {
	var out []string
	for _, p := range paths {
		if strings.HasPrefix(strings.TrimPrefix(p, "features/"), protocol) {
			out = append(out, p)
		}
	}
	return out
}
