// Command gotest runs `go test` with its arguments, prints what ends and what fails, and counts what was left out, also
// where a result comes from the cache.
//
//	gotest -race ./wire/...
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/tier"
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		s := newSummary(os.Stdout)
		err = errors.Join(s.read(out), cmd.Wait())
		s.printSummary()
	}
	if err != nil {
		if _, failed := errors.AsType[*exec.ExitError](err); !failed {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}

// event is a line of `go test -json` (cmd/test2json).
type event struct{ Action, Package, Test, Output string }

type test struct{ pkg, name string }

// summary prints the results of packages and the output of tests that fail, and counts those that are skipped.
type summary struct {
	out    io.Writer
	output map[test]*bytes.Buffer // of the tests that run
	tests  int                    // that ran, with their rows
	left   map[string]int         // by reason
	others []string               // tests that were skipped for a reason of their own, with it
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, output: map[test]*bytes.Buffer{}, left: map[string]int{}}
}

func (s *summary) read(r io.Reader) error {
	for d := jsontext.NewDecoder(r); ; {
		var e event
		if err := json.UnmarshalDecode(d, &e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the output of go test: %w", err)
		}
		s.countEvent(e)
	}
}

func (s *summary) countEvent(e event) {
	t := test{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		_, _ = io.WriteString(s.out, e.Output)
	case e.Test == "":
		s.printPackage(e)
	case e.Action == "run":
		s.output[t] = &bytes.Buffer{}
	case e.Action == "output" && s.output[t] != nil:
		s.output[t].WriteString(e.Output)
	case e.Action == "pass", e.Action == "skip", e.Action == "fail":
		s.endTest(t, e.Action)
	}
}

// printPackage prints what a package says itself. One that fails leaves tests that have not ended, after a panic or
// when time is up: what these have said is printed too.
func (s *summary) printPackage(e event) {
	switch e.Action {
	case "output":
		if !strings.HasSuffix(e.Output, "[no test files]\n") && e.Output != "PASS\n" {
			_, _ = io.WriteString(s.out, e.Output)
		}
	case "fail":
		for t, said := range s.output {
			if t.pkg == e.Package {
				_, _ = said.WriteTo(s.out)
				delete(s.output, t)
			}
		}
	}
}

func (s *summary) endTest(t test, how string) {
	said := s.output[t]
	delete(s.output, t)
	switch {
	case how == "fail":
		_, _ = said.WriteTo(s.out)
		s.tests++
	case how == "pass":
		s.tests++
	case strings.Contains(said.String(), tier.AtNight):
		s.left[tier.AtNight]++
	case strings.Contains(said.String(), tier.InTest):
		s.left[tier.InTest]++
	default:
		s.others = append(s.others, t.pkg+" "+skipReason(said.String()))
	}
}

// skipReason returns a skipped test and why it was, in a line.
func skipReason(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "===") {
			lines = append(lines, strings.TrimPrefix(line, "--- SKIP: "))
		}
	}
	return strings.Join(lines, ": ")
}

func (s *summary) printSummary() {
	fmt.Fprintf(s.out, "%d tests and rows of tests ran.\n", s.tests)
	for _, why := range slices.Sorted(maps.Keys(s.left)) {
		fmt.Fprintf(s.out, "%d %s\n", s.left[why], why)
	}
	slices.SortFunc(s.others, cmp.Compare)
	for _, o := range s.others {
		fmt.Fprintf(s.out, "skipped: %s\n", o)
	}
}
