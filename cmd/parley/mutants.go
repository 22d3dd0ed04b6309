package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"parley/protocol/agentselect"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/verdict"
)

// mutantsOptions are the flags of parley mutants.
type mutantsOptions struct {
	protocols   []string
	only        []string
	json        bool
	concurrency int
}

func mutantsCommand(s *streams) *cobra.Command {
	var o mutantsOptions
	c := &cobra.Command{
		Use:   "mutants",
		Short: "Prove that the suite bites: run servers with known faults",
		Long: `Run every mutant, a bundled server with one named fault, against the clauses that the fault breaks, and print which
scenario killed it. A mutant counts as killed by a clause only where that clause failed while the mutant's control
scenarios passed: one that merely crashes proves nothing.

Exit 1 if a mutant survives, or if a tested clause that binds has no mutant that it kills.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runMutants(c.Context(), o, s) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.protocols, "protocol", nil, "`PROTOCOL` whose mutants to run; may be repeated (default all)")
	f.StringSliceVar(&o.only, "only", nil, "run only the mutants with these `IDS`, and prove nothing of the suite")
	f.BoolVar(&o.json, "json", false, "print the kill matrix as JSON")
	f.IntVar(&o.concurrency, "concurrency", 0, "mutants side by side (default 24)")
	return c
}

func runMutants(ctx context.Context, o mutantsOptions, s *streams) error {
	for _, p := range o.protocols {
		if p != agentselect.Protocol {
			return usagef("protocol %q has no mutants; known: %s", p, agentselect.Protocol)
		}
	}
	chosen, err := chooseMutants(bundled.Mutants(), o.only)
	if err != nil {
		return err
	}
	bar := &mutantBar{w: s.Err, tty: s.ErrTTY, total: len(chosen)}
	k, err := runner.Mutants(ctx, runner.MutantOptions{Protocol: agentselect.Protocol, Profile: bundled.Profile(), Mutants: chosen,
		Concurrency: o.concurrency, Done: bar.done})
	bar.end()
	if err != nil {
		if ctx.Err() != nil {
			return exitError{verdict.ExitInterrupted}
		}
		return err
	}
	if len(o.only) > 0 {
		k.Unproved, k.OK = []string{}, len(k.Survived) == 0
	}
	if err := printMatrix(s.Out, k, o.json); err != nil {
		return err
	}
	if !k.OK {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}

func chooseMutants(all []runner.Mutant, only []string) ([]runner.Mutant, error) {
	if len(only) == 0 {
		return all, nil
	}
	var out []runner.Mutant
	var names []string
	for _, m := range all {
		names = append(names, m.ID)
		if slices.Contains(only, m.ID) {
			out = append(out, m)
		}
	}
	for _, id := range only {
		if !slices.Contains(names, id) {
			return nil, usagef("unknown mutant %q%s", id, suggest(id, names, "parley mutants --json lists them"))
		}
	}
	return out, nil
}

// mutantBar shows how far a run of mutants is: one line that is redrawn on a terminal, a line a quarter elsewhere.
type mutantBar struct {
	w     io.Writer
	tty   bool
	total int

	mu       sync.Mutex
	n, quart int
	survived int
}

func (b *mutantBar) done(k runner.Killed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	if !k.OK {
		b.survived++
	}
	line := fmt.Sprintf("mutants %d/%d, %d survived", b.n, b.total, b.survived)
	if b.tty {
		fmt.Fprintf(b.w, "\r\x1b[K%s  %s", line, k.ID)
		return
	}
	if quart := 4 * b.n / b.total; quart > b.quart {
		b.quart = quart
		fmt.Fprintln(b.w, line)
	}
}

func (b *mutantBar) end() {
	if b.tty {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}

// printMatrix prints the kill matrix: what survived first, then each clause with what it killed.
func printMatrix(w io.Writer, k *runner.KillMatrix, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(k)
	}
	ids := make([]string, 0, len(k.Clauses))
	for id := range k.Clauses {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		fmt.Fprintf(w, "%s  killed %3d  %s\n", id, len(k.Clauses[id]), firstOf(k.Clauses[id], 4))
	}
	fmt.Fprintln(w)
	for _, m := range k.Mutants {
		if !m.OK {
			printSurvivor(w, m)
		}
	}
	for _, id := range k.Unproved {
		fmt.Fprintf(w, "UNPROVED  %s: no mutant proves that it bites\n", id)
	}
	fmt.Fprintf(w, "%s: %d mutants, %d killed; %d clauses proved, %d unproved · %.1f s\n",
		k.Protocol, len(k.Mutants), len(k.Mutants)-len(k.Survived), len(ids), len(k.Unproved), k.Duration/1000)
	return nil
}

func firstOf(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}

func printSurvivor(w io.Writer, m runner.Killed) {
	fmt.Fprintf(w, "SURVIVED  %s: %s\n", m.ID, m.Why)
	for id, how := range m.Clauses {
		if how != "killed" {
			fmt.Fprintf(w, "  not killed by %s: %s\n", id, how)
		}
	}
	for _, c := range m.Control {
		fmt.Fprintf(w, "  control failed: %s\n", c)
	}
	if m.Error != "" {
		fmt.Fprintf(w, "  could not be run: %s\n", m.Error)
	}
}
