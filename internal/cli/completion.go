package cli

import (
	"maps"
	"slices"
	"strings"

	"parley/simulator/counterpart"
	"parley/simulator/load"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addCompletion makes the shell complete what a command and its subcommands take: protocols, roles, drivers, formats,
// clauses and mutants. Where a file may stand, files are completed too.
func addCompletion(c *cobra.Command) {
	for _, sub := range c.Commands() {
		addCompletion(sub)
	}
	words := map[string]func(chosen) []string{
		"protocol": func(chosen) []string { return suite.Names() },
		"role":     rolesOf, "driver": driversOf,
		"format": func(chosen) []string { return strings.Split(formatNames(), ",") },
		"to":     func(chosen) []string { return slices.Sorted(maps.Keys(recordingWriters)) },
		"lang":   func(chosen) []string { return []string{"en", "zh"} },
		"only":   mutantsOf, "mutant": mutantsOf,
		"as":    allParties,
		"mind":  func(chosen) []string { return asTexts(counterpart.Minds()) },
		"shape": func(chosen) []string { return asTexts(load.Shapes) },
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "script" { // a ready one, or a file
			_ = c.RegisterFlagCompletionFunc(f.Name, orFile(scriptsOf))
		} else if of := words[f.Name]; of != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, inList(of)) // fails only if it is registered already
		}
	})
	switch c.Name() {
	case "run", "explain":
		c.ValidArgsFunction = func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			files := cobra.ShellCompDirectiveDefault
			if c.Name() == "explain" {
				files = cobra.ShellCompDirectiveNoFileComp
			}
			return wordsBeginning(idsOf(protocolsGiven(c)), begun), files
		}
	}
}

// inList completes the last word of a list that commas separate, or a single word.
func inList(of func(chosen) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndex(begun, ",")+1]
		var out []string
		for _, word := range wordsBeginning(of(protocolsGiven(c)), begun[len(before):]) {
			out = append(out, before+word)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// orFile completes a word where the name of a file may stand too.
func orFile(of func(chosen) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return wordsBeginning(of(protocolsGiven(c)), begun), cobra.ShellCompDirectiveDefault
	}
}

// protocolsGiven returns the protocols that the flags of a command name; all if they name none.
func protocolsGiven(c *cobra.Command) chosen {
	var names []string
	if f := c.Flags().Lookup("protocol"); f != nil && f.Changed {
		names = strings.Split(strings.Trim(f.Value.String(), "[]"), ",")
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(suite.Names(), n) })
	if len(names) == 0 {
		names = suite.Names()
	}
	return names
}

// asTexts returns words of a type of their own.
func asTexts[T ~string](all []T) (out []string) {
	for _, one := range all {
		out = append(out, string(one))
	}
	return out
}

// chosen are names of protocols.
type chosen []string

func rolesOf(protocols chosen) []string {
	var all []string
	for _, p := range protocols {
		all = append(all, suite.Roles(p)...)
	}
	return append(withoutDuplicates(all), "all")
}

func driversOf(protocols chosen) []string {
	var all []string
	for _, p := range protocols {
		kind, _ := suite.Kinds().Find(p)
		all = append(all, kind.Drivers...)
	}
	return append(withoutDuplicates(all), "all")
}

func allParties(protocols chosen) []string {
	var all []string
	for _, p := range protocols {
		all = append(all, partiesOf(p)...)
	}
	return withoutDuplicates(all)
}

func scriptsOf(protocols chosen) []string {
	var all []string
	for _, p := range protocols {
		for _, as := range partiesOf(p) {
			all = append(all, scriptsFor(p, as)...)
		}
	}
	return withoutDuplicates(all)
}

func mutantsOf(protocols chosen) []string {
	var all []string
	for _, p := range protocols {
		for _, role := range suite.Roles(p) {
			for _, m := range bundle.Mutants(suite.Kinds(), p, role) {
				all = append(all, m.ID)
			}
		}
	}
	return all
}

// idsOf returns the clauses and scenarios of protocols.
func idsOf(protocols chosen) []string {
	books, err := openBooks(protocols)
	if err != nil {
		return nil
	}
	var all []string
	for _, c := range listClauses(books, false) {
		all = append(all, c.ID)
	}
	for _, s := range listScenarios(books) {
		all = append(all, s.ID)
	}
	return withoutDuplicates(all)
}

// wordsBeginning returns the words that begin in a certain way, whatever their case.
func wordsBeginning(words []string, begun string) []string {
	var out []string
	for _, w := range words {
		if len(w) >= len(begun) && strings.EqualFold(w[:len(begun)], begun) {
			out = append(out, w)
		}
	}
	return out
}
