package parley_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"parley/model"
	"parley/reference-server/agentselect"
	"parley/reference-server/bundled"
	"parley/reference-server/mutants"
	"parley/runner"
	"parley/target"
)

func TestDevMutants(t *testing.T) {
	var ms []runner.Mutant
	for _, m := range mutants.All() {
		if f := os.Getenv("MUTANT"); f != "" && !strings.Contains(","+f+",", ","+m.ID+",") {
			continue
		}
		drivers := []string{"sse"}
		if len(m.Transports) == 1 {
			drivers = m.Transports
		}
		ms = append(ms, runner.Mutant{ID: m.ID, Clauses: m.Clauses, Why: m.Why, Control: m.Control, Drivers: drivers, Launch: func(b *model.Brain) target.Launcher {
			return &bundled.Launcher{Brain: b, Make: func(o agentselect.Options) (bundled.Handler, error) { return mutants.Handler(m.ID, o) }}
		}})
	}
	k, err := runner.Mutants(context.Background(), runner.MutantOptions{Protocol: "agent-select", Profile: bundled.Profile(), Mutants: ms})
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	for _, m := range k.Mutants {
		if m.OK {
			continue
		}
		bad++
		for c, how := range m.Clauses {
			if how != "killed" {
				fmt.Printf("%-34s %s %.150s\n", m.ID, c, how)
			}
		}
		for _, c := range m.Control {
			fmt.Printf("%-34s CONTROL %.150s\n", m.ID, c)
		}
		if m.Error != "" {
			fmt.Printf("%-34s ERROR %.150s\n", m.ID, m.Error)
		}
	}
	fmt.Println("mutants", len(k.Mutants), "bad", bad, "unproved", k.Unproved, "ms", k.Duration)
	b, _ := json.MarshalIndent(k, "", " ")
	_ = os.WriteFile("/tmp/kill.json", b, 0o644)
}
