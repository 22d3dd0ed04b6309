package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/input"
	"parley/internal/jsonform"
	"parley/internal/words"
	"parley/reports"
	"parley/reports/certificate"
	"parley/runner"
)

// mutantsOptions are the flags of parley mutants.
type mutantsOptions struct {
	protocols, roles []string
	only             []string
	json             bool
	whole, missing   bool
	list             bool
	out, matrix      string
	concurrency      int
}

func mutantsCommand(s *streams) *cobra.Command {
	var o mutantsOptions
	c := &cobra.Command{
		Use:   "mutants",
		Short: "Prove that the suite catches faults: run targets with known faults",
		Long: `Run every mutant (a bundled target with one named fault) against the clauses that its fault breaks, and print
which scenario killed it. A mutant counts as killed by a clause only if that clause failed while the mutant's
control scenarios passed: a mutant that merely crashes proves nothing.

With --list the mutants are listed, each with the clauses that it breaks, and none is run.

There is one kill matrix for each role of each protocol. With --json a single matrix is printed as an object,
and several as an array.

With --out FOLDER the results of each mutant are written, in the format of results.json, to
FOLDER/PROTOCOL-ROLE/MUTANT.json. No scenario is then left out once the mutant's clauses are broken.

With --whole each mutant runs through the whole suite, and what it breaks besides its own clauses is counted: the
median, the 95th percentile, and the ten mutants that break most. This takes about ten times as long.

Mutants of pages need Chromium or Chrome. Without --protocol they are left out if there is none, and a line says
so.

Exit 1 if a mutant survives, or if no mutant is killed by a tested, binding clause.`,
		Example: `  parley mutants --list
  parley mutants --list --protocol ` + suite.Kinds()[0].Protocol,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runMutants(c.Context(), o, s) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.protocols, "protocol", nil,
		"run the mutants of `PROTOCOL`; may be repeated (default all)")
	f.StringSliceVar(&o.roles, "role", nil,
		"run the mutants of targets in `ROLE`, or all; may be repeated (default all)")
	f.StringSliceVar(&o.only, "only", nil, "run only the mutants with these `IDS`; proves nothing about the whole suite")
	f.BoolVar(&o.list, "list", false, "list the mutants, and run none")
	f.BoolVar(&o.json, "json", false, "print the kill matrices, or the list, as JSON")
	f.BoolVar(&o.whole, "whole", false,
		"run each mutant through the whole suite, and report how many clauses it breaks besides its own")
	f.BoolVar(&o.missing, "missing", false, "run only the mutants whose results by this suite are not yet in --out")
	f.StringVar(&o.out, "out", "", "write the results of each mutant into `FOLDER`")
	f.StringVarP(&o.matrix, "output", "o", "",
		"write the kill matrices into `FILE`, in the form that certificates refer to")
	f.IntVar(&o.concurrency, "concurrency", 0, "mutants side by side (default 24)")
	return c
}

// catalogue holds the mutants of one protocol's targets of one role.
type catalogue struct {
	protocol, role string
	mutants        []runner.Mutant
}

func runMutants(ctx context.Context, o mutantsOptions, s *streams) error {
	all, err := chosenCatalogues(o.protocols, o.roles)
	if err == nil {
		all, err = chooseMutants(all, o.only)
	}
	if err == nil && o.matrix != "" && len(o.only) > 0 {
		err = usagef("--output: a matrix of some mutants proves nothing about the suite (leave out --only)")
	}
	if err == nil && o.list {
		return listMutants(all, o.json, s)
	}
	var left []string
	if err == nil && o.missing {
		all, err = o.withoutResults(all)
	}
	if err == nil {
		all, left, err = leaveOut(all, len(o.protocols) > 0,
			func(c catalogue) error { return missingBrowser(suite.Kinds().New(c.protocol)) },
			func(c catalogue) string { return c.protocol })
	}
	if err != nil {
		return err
	}
	bar := &mutantBar{w: s.Err, tty: s.ErrTTY}
	for _, c := range all {
		bar.total += len(c.mutants)
	}
	matrices, err := o.runCatalogues(ctx, all, bar)
	bar.clearBar()
	switch {
	case err != nil && ctx.Err() != nil:
		return exitError{verdict.ExitInterrupted}
	case err != nil:
		return err
	}
	if err := o.writeMatrix(matrices); err != nil {
		return err
	}
	if err := printMatrices(s.Out, matrices, o.json); err != nil {
		return err
	}
	for _, text := range left {
		fmt.Fprintln(s.Err, text)
	}
	if slices.ContainsFunc(matrices, func(k *runner.KillMatrix) bool { return !k.OK }) {
		return exitError{verdict.ExitNonConformant}
	}
	return nil
}

// writeMatrix writes the kill matrices into the file that was asked for.
func (o mutantsOptions) writeMatrix(matrices []*runner.KillMatrix) error {
	if o.matrix == "" {
		return nil
	}
	var k certificate.Kills
	for _, m := range matrices {
		of, err := provedNow(m.Protocol, m.Role)
		if err != nil {
			return err
		}
		clauses := map[string][]string{}
		for id, by := range m.Clauses {
			clauses[id] = slices.Sorted(slices.Values(by))
		}
		k.Roles = append(k.Roles, certificate.RoleKills{Protocol: m.Protocol, Role: m.Role, Mutants: len(m.Mutants),
			Survived: m.Survived, Unproved: m.Unproved, Clauses: clauses, Of: of})
	}
	b, err := certificate.WriteKills(&k)
	if err != nil {
		return err
	}
	return writeTogether(newFile{o.matrix, b, 0o644})
}

// runCatalogues runs the catalogues one after the other.
func (o mutantsOptions) runCatalogues(ctx context.Context, all []catalogue, bar *mutantBar) ([]*runner.KillMatrix,
	error) {
	var out []*runner.KillMatrix
	for _, c := range all {
		if len(all) > 1 {
			bar.of = titleWithRole(c.protocol, c.role)
		}
		if err := o.mustConform(ctx, c); err != nil {
			return nil, err
		}
		w := &mutantWriter{folder: filepath.Join(o.out, c.protocol+"-"+c.role)}
		options := runner.MutantOptions{Protocols: suite, Protocol: c.protocol, Role: c.role,
			Profile: bundle.MutantProfile(suite.Kinds(), c.protocol, c.role), Mutants: c.mutants, Concurrency: o.concurrency,
			Whole: o.whole, Done: bar.countDone}
		if o.out != "" {
			options.Results = w.write
		}
		k, err := runner.Mutants(ctx, options)
		if err = errors.Join(err, w.err); err != nil {
			return nil, err
		}
		if len(o.only) > 0 || o.missing {
			k.Unproved, k.OK = []string{}, len(k.Survived) == 0
		}
		out = append(out, k)
	}
	return out, nil
}

// mutantWriter writes the results of mutants, each into a file of its own. Its method may be called concurrently.
type mutantWriter struct {
	folder string

	mu  sync.Mutex
	err error // the first; what follows is not written
}

func (w *mutantWriter) write(id string, r *reports.Results) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	var b bytes.Buffer
	if w.err = reports.WriteJSON(&b, r); w.err != nil {
		return
	}
	if w.err = os.MkdirAll(w.folder, 0o755); w.err == nil {
		w.err = os.WriteFile(filepath.Join(w.folder, id+".json"), b.Bytes(), 0o644)
	}
	if w.err != nil {
		w.err = fmt.Errorf("write the results of mutant %s: %w", id, w.err)
	}
}

// chosenCatalogues returns the catalogues of the named protocols and roles; without names, of all that have mutants. A
// protocol that has none of the roles is included in every role that it has. Naming something without mutants is an
// error, since it would pass as proved.
func chosenCatalogues(protocols, roles []string) ([]catalogue, error) {
	if err := knownProtocols(protocols); err != nil {
		return nil, err
	}
	named := len(protocols) > 0
	if !named {
		protocols = bundle.Protocols()
	}
	if err := knownRoles(roles, protocols); err != nil {
		return nil, err
	}
	var out []catalogue
	var without []string
	for _, p := range withoutDuplicates(protocols) {
		mine := rolesAmong(p, roles)
		asked := named || len(mine) > 0 && !slices.Contains(roles, everyRole)
		if len(mine) == 0 {
			mine = suite.Roles(p)
		}
		for _, role := range mine {
			mutants := bundle.Mutants(suite.Kinds(), p, role)
			switch {
			case len(mutants) > 0:
				out = append(out, catalogue{p, role, mutants})
			case asked:
				without = append(without, titleWithRole(p, role))
			}
		}
	}
	if len(without) > 0 {
		return nil, usagef("there are no mutants for %s (only for %s)", strings.Join(without, ", "),
			strings.Join(targetsWithMutants(), ", "))
	}
	return out, nil
}

// targetsWithMutants lists the targets with mutants.
func targetsWithMutants() []string {
	var out []string
	for _, p := range bundle.Protocols() {
		for _, role := range suite.Roles(p) {
			if len(bundle.Mutants(suite.Kinds(), p, role)) > 0 {
				out = append(out, titleWithRole(p, role))
			}
		}
	}
	return out
}

// chooseMutants keeps the mutants with these ids, and drops empty catalogues.
func chooseMutants(all []catalogue, only []string) ([]catalogue, error) {
	if len(only) == 0 {
		return all, nil
	}
	var out []catalogue
	var ids []string
	for _, c := range all {
		chosen := catalogue{protocol: c.protocol, role: c.role}
		for _, m := range c.mutants {
			ids = append(ids, m.ID)
			if slices.Contains(only, m.ID) {
				chosen.mutants = append(chosen.mutants, m)
			}
		}
		if len(chosen.mutants) > 0 {
			out = append(out, chosen)
		}
	}
	for _, id := range only {
		if !slices.Contains(ids, id) {
			return nil, usagef("--only: unknown mutant %q%s", id,
				suggestWord(id, ids, "parley mutants --list lists them"))
		}
	}
	return out, nil
}

// withoutResults keeps the mutants whose results are not in the folder, or are of another suite.
func (o mutantsOptions) withoutResults(all []catalogue) ([]catalogue, error) {
	if o.out == "" {
		return nil, usagef("--missing: no folder (name one with --out)")
	}
	var out []catalogue
	for _, c := range all {
		rest := catalogue{protocol: c.protocol, role: c.role}
		for _, m := range c.mutants {
			if !judgedBefore(filepath.Join(o.out, c.protocol+"-"+c.role, m.ID+".json")) {
				rest.mutants = append(rest.mutants, m)
			}
		}
		if len(rest.mutants) > 0 {
			out = append(out, rest)
		}
	}
	return out, nil
}

// judgedBefore reports whether a file has results by this suite.
func judgedBefore(name string) bool {
	b, err := input.Read(name, reports.MaxJSON)
	if err != nil {
		return false
	}
	res, err := reports.ReadJSON(bytes.NewReader(b))
	return err == nil && res.Suite.Digest == suite.Digest()
}

// mutantBar shows the progress of a run of mutants: one line that is redrawn on a terminal, else a line every
// quarter.
type mutantBar struct {
	w     io.Writer
	tty   bool
	total int
	of    string // catalogue in progress; "" if there is only one

	mu       sync.Mutex
	n, quart int
	survived int
}

func (b *mutantBar) countDone(k runner.Killed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	if !k.OK {
		b.survived++
	}
	line := fmt.Sprintf("mutants %d/%d, %d survived", b.n, b.total, b.survived)
	if b.of != "" {
		line += "  " + b.of
	}
	if b.tty {
		fmt.Fprintf(b.w, "\r\x1b[K%s  %s", line, k.ID)
		return
	}
	if quart := 4 * b.n / b.total; quart > b.quart {
		b.quart = quart
		fmt.Fprintln(b.w, line)
	}
}

func (b *mutantBar) clearBar() {
	if b.tty {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}

// printMatrices prints kill matrices: as consecutive text, or as JSON: one object, or an array of several.
func printMatrices(w io.Writer, matrices []*runner.KillMatrix, asJSON bool) error {
	if asJSON {
		var all any = matrices
		if len(matrices) == 1 {
			all = matrices[0]
		}
		return jsonform.WriteLine(w, all, jsonform.Unescaped, jsontext.WithIndent("  "))
	}
	for i, k := range matrices {
		if i > 0 {
			fmt.Fprintln(w)
		}
		printMatrix(w, k)
	}
	return nil
}

// printMatrix prints a kill matrix: each clause with its killed mutants, then the survivors.
func printMatrix(w io.Writer, k *runner.KillMatrix) {
	ids := slices.Sorted(maps.Keys(k.Clauses))
	for _, id := range ids {
		fmt.Fprintf(w, "%s  killed %3d  %s\n", id, len(k.Clauses[id]), firstOf(k.Clauses[id], 4))
	}
	fmt.Fprintln(w)
	for _, m := range k.Mutants {
		if !m.OK {
			printSurvivor(w, m)
		}
		for _, text := range m.Unfired {
			fmt.Fprintf(w, "UNFIRED  %s: %s\n", m.ID, text)
		}
	}
	for _, id := range k.Unproved {
		fmt.Fprintf(w, "UNPROVED  %s: no mutant is killed by it\n", id)
	}
	fmt.Fprintf(w, "%s: %d mutants, %d killed; %d clauses proved, %d unproved · %.1f s\n",
		titleWithRole(k.Protocol, k.Role), len(k.Mutants), len(k.Mutants)-len(k.Survived), len(ids), len(k.Unproved),
		k.Duration/1000)
	printBlame(w, k)
}

// printBlame prints how many clauses the mutants break besides their own, and which break most.
func printBlame(w io.Writer, k *runner.KillMatrix) {
	if k.Blame == nil {
		return
	}
	b := k.Blame
	fmt.Fprintf(w, "%s: clauses broken besides a mutant's own: median %d, 95th percentile %d, at most %d, over %s\n",
		titleWithRole(k.Protocol, k.Role), b.Median, b.P95, b.Most, words.Counted(b.Mutants, "mutant"))
	for _, m := range b.Worst {
		fmt.Fprintf(w, "  %3d  %s: %s\n", len(m.Besides), m.ID, firstOf(m.Besides, 8))
	}
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
