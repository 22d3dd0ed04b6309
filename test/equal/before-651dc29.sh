#!/bin/sh
# Teaches a checkout of a commit before 651dc29 what test/equal.sh needs: `parley mutants --out`, and PARLEY_KEEP in the
# tests of foreign and bad targets. It changes nothing that judges. Run in the root of the checkout; test/equal.sh does
# so with --prepare.
set -eu

# changes EXPRESSION FILE: an expression that changes nothing is an error.
changes() {
	sed -e "$1" "$2" >"$2.changed"
	if cmp -s "$2" "$2.changed"; then
		echo "before-651dc29.sh: nothing to change in $2: $1" >&2
		exit 1
	fi
	mv "$2.changed" "$2"
}

changes 's|^	Done        func(Killed).*|&\
	Results     func(id string, r *reports.Results)|' runner/mutants.go
changes 's|Enough: seen.enough,|Enough: o.enough(seen),|' runner/mutants.go
changes 's|^	judge(&k, mu, res.Runs\[0\], control)|	if o.Results != nil \&\& ctx.Err() == nil {\
		o.Results(mu.ID, res)\
	}\
&|' runner/mutants.go
cat >>runner/mutants.go <<'END'

// enough leaves out no scenario where results are kept.
func (o MutantOptions) enough(k *killing) func(Planned) bool {
	if o.Results != nil {
		return func(Planned) bool { return false }
	}
	return k.enough
}
END

changes 's|Concurrency: o.concurrency, Done: bar.done|&, Results: writeResults(o.out, c)|' cmd/parley/mutants.go
changes 's|^	json             bool|&\
	out              string|' cmd/parley/mutants.go
changes 's|^	f.IntVar(&o.concurrency|	f.StringVar(\&o.out, "out", "", "write the results of each mutant into `FOLDER`")\
&|' cmd/parley/mutants.go
cat >cmd/parley/mutants_out.go <<'END'
package main

import (
	"bytes"
	"os"
	"path/filepath"

	"parley/reports"
)

func writeResults(out string, c catalogue) func(string, *reports.Results) {
	if out == "" {
		return nil
	}
	return func(id string, r *reports.Results) {
		folder := filepath.Join(out, c.protocol+"-"+c.role)
		var b bytes.Buffer
		err := reports.WriteJSON(&b, r)
		if err == nil {
			err = os.MkdirAll(folder, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, id+".json"), b.Bytes(), 0o644)
		}
		if err != nil {
			panic(err)
		}
	}
}
END

for file in *_test.go; do
	[ "$file" = bench_test.go ] || sed -i 's/runner\.Run(\(context\.Background()\|t\.Context()\|ctx\), /kept(t, \1, /' "$file"
done
cat >kept_test.go <<'END'
package parley_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"parley/reports"
	"parley/runner"
)

// kept runs a suite, and keeps its results in PARLEY_KEEP under the test's name.
func kept(t *testing.T, ctx context.Context, o runner.Options) (*reports.Results, error) {
	t.Helper()
	res, err := runner.Run(ctx, o)
	folder := os.Getenv("PARLEY_KEEP")
	if err != nil || folder == "" {
		return res, err
	}
	var b bytes.Buffer
	if err := reports.WriteJSON(&b, res); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, filepath.FromSlash(t.Name()))
	path := name + ".json"
	for n := 2; ; n++ {
		if _, err := os.Stat(path); err != nil {
			break
		}
		path = fmt.Sprintf("%s-%d.json", name, n)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return res, nil
}
END
