// Command generate writes what is derived from the code anew, each only where its test says that it is out of date:
// references, schemas, documents, golden files, which steps judge which clause, the kill matrices, the pictures of the
// documents and the signatures of mutants. Without arguments it writes all but the signatures, which take an hour.
//
//	go run ./internal/generate              # make generate
//	go run ./internal/generate kills        # one of them
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
)

// part is something derived. Its test fails where it is out of date, and writes it with -update; or write does.
type part struct {
	name, writes string
	pkg, test    string
	write        func(ctx context.Context) error
	asked        bool // only if it is named
}

// parts are in the order in which one needs another.
var parts = []part{
	{name: "ids", writes: "the ids of scenarios in features", write: writeIDs},
	{name: "packages", writes: "the packages in docs/architecture.md", pkg: "./internal/style", test: "TestPackages"},
	{name: "api", writes: "test/testdata/api.txt", pkg: ".", test: "TestAPI"},
	{name: "cli", writes: "docs/cli.md", pkg: "./internal/cli", test: "TestReference"},
	{name: "schema", writes: "the schema of profiles", pkg: "./steps/protocols", test: "TestProfileSchema"},
	{name: "steps", writes: "docs/steps.md", pkg: "./steps/protocols", test: "TestStepReference"},
	{name: "asyncapi", writes: "docs/asyncapi", pkg: "./protocol/messages", test: "TestAsyncAPI"},
	{name: "golden", writes: "reports/testdata", pkg: "./reports", test: ""},
	{name: "judges", writes: "features/*/judges.yaml", pkg: ".", test: "TestFeatures"},
	{name: "kills", writes: killsFile, write: writeKills},
	{name: "pictures", writes: "docs/images", pkg: "./test/pages", test: "TestPictures"},
	{name: "signatures", writes: "reports/diagnosis/signatures.json.gz", write: writeSignatures, asked: true},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			var all []string
			for _, p := range parts {
				all = append(all, p.name)
			}
			return fmt.Errorf("unknown: %s (known: %s)", name, strings.Join(all, ", "))
		}
	}
	for _, p := range parts {
		if len(names) > 0 && !slices.Contains(names, p.name) || len(names) == 0 && p.asked {
			continue
		}
		if err := p.writeIfStale(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.writes, err)
		}
	}
	return nil
}

func (p part) writeIfStale(ctx context.Context) error {
	if p.write != nil {
		return p.write(ctx)
	}
	args := []string{"test", p.pkg, "-run", "^" + p.test}
	if p.test != "" {
		args[len(args)-1] += "$"
	}
	if exec.CommandContext(ctx, "go", args...).Run() == nil {
		fmt.Println(p.writes, "is up to date")
		return nil
	}
	fmt.Println(p.writes, "is written anew")
	return run(ctx, "go", append(args, "-update")...)
}

// run runs a command whose output is shown.
func run(ctx context.Context, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}
