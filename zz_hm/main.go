package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"parley/reference-server/bundled"
	"parley/runner"
)

func main() {
	bundled.Child()
	all := bundled.Mutants("external-agent", "host")
	if len(os.Args) > 1 {
		all = slices.DeleteFunc(all, func(m runner.Mutant) bool { return !slices.Contains(os.Args[1:], m.ID) })
	}
	k, err := runner.Mutants(context.Background(), runner.MutantOptions{Protocol: "external-agent", Role: "host", Profile: bundled.MutantProfile("external-agent", "host"), Mutants: all, Concurrency: 16})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, m := range k.Mutants {
		if m.OK && len(os.Args) > 4 {
			continue
		}
		if m.OK && len(os.Args) == 1 {
			continue
		}
		fmt.Printf("== %s ok=%v %.0fms %s\n", m.ID, m.OK, m.Duration, m.Error)
		var ids []string
		for id := range m.Clauses {
			ids = append(ids, id)
		}
		sort.Strings(ids)
		for _, id := range ids {
			h := m.Clauses[id]
			if len(h) > 300 {
				h = h[:300]
			}
			fmt.Printf("   %s %s by %s\n", id, h, m.By[id])
		}
		for _, c := range m.Control {
			if len(c) > 250 {
				c = c[:250]
			}
			fmt.Println("   CONTROL", c)
		}
	}
	n := 0
	for _, m := range k.Mutants {
		if m.OK {
			n++
		}
	}
	sort.Slice(k.Mutants, func(i, j int) bool { return k.Mutants[i].Duration > k.Mutants[j].Duration })
	for _, m := range k.Mutants[:min(15, len(k.Mutants))] {
		fmt.Print(m.ID, " ", int(m.Duration), "; ")
	}
	fmt.Printf("\n%d mutants, %d ok, unproved %v, %.0f ms\n", len(k.Mutants), n, strings.Join(k.Unproved, " "), k.Duration)
}
