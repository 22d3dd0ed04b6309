package strangers_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps/protocols"
)

// BenchmarkBroken runs `parley run` against each program of broken.yaml, and prints a row of docs/performance.md for
// it. It takes about half an hour. With PARLEY_BROKEN the results are kept in that folder, where the clauses of two
// runs can be compared; PARLEY is another binary than that of this tree.
//
//	go test ./test/strangers -run '^$' -bench Broken/session-chat -benchtime 1x -timeout 3h
func BenchmarkBroken(b *testing.B) {
	program := os.Getenv("PARLEY")
	if program == "" {
		program = filepath.Join(b.TempDir(), "parley")
		if out, err := exec.Command("go", "build", "-o", program, "./cmd/parley").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	fmt.Println("| target | fault | wall | processor | peak memory | failed clauses, scenarios |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, f := range faultsIn(b, "broken.yaml") {
		name := filepath.Join("examples", "profiles", f.Profile+".yaml")
		p, err := protocols.Kinds().Load(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.Trim(p.Protocol+"-"+p.Role, "-")+"/"+f.Profile+"/"+f.Name, func(b *testing.B) {
			for b.Loop() {
				fmt.Println(measureRun(b, program, f).row(f))
			}
		})
	}
}

// measured is what a run took.
type measured struct {
	wall, cpu time.Duration // cpu with that of the target
	memory    int64         // the most of parley alone, in bytes
	results   *reports.Results
}

// measureRun runs a program against the target of a fault.
func measureRun(b *testing.B, program string, f fault) measured {
	b.Helper()
	dir := b.TempDir()
	profile := copyWith(b, dir, f)
	kept := dir
	if folder := os.Getenv("PARLEY_BROKEN"); folder != "" {
		kept = filepath.Join(folder, f.Profile, strings.ReplaceAll(f.Name, " ", "-"))
	}
	c := exec.Command(program, "run", profile, "--driver", "all", "--format", "json", "--out", kept)
	c.Dir = dir
	began := time.Now()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	memory := watchPeak(c.Process.Pid)
	err := c.Wait()
	m := measured{wall: time.Since(began), memory: memory(),
		cpu: c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		b.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(kept, "results.json"))
	if err != nil {
		b.Fatal(err)
	}
	if err := json.Unmarshal(data, &m.results); err != nil {
		b.Fatal(err)
	}
	return m
}

// row is what was measured of a fault, as a row of a table.
func (m measured) row(f fault) string {
	run := m.results.Runs[0]
	var clauses, scenarios int
	for _, c := range run.Clauses {
		if c.Outcome == verdict.Failed {
			clauses++
		}
	}
	for _, s := range run.Scenarios {
		if s.Outcome == verdict.Failed {
			scenarios++
		}
	}
	return fmt.Sprintf("| %s | %s | %.1f s | %.1f s | %d MB | %d, %d |", f.Profile, f.Name, m.wall.Seconds(),
		m.cpu.Seconds(), m.memory/1e6, clauses, scenarios)
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// watchPeak follows the memory of a process until the function is called, which returns the most; 0: this system does
// not say.
func watchPeak(pid int) func() int64 {
	stop, done, most := make(chan struct{}), make(chan struct{}), int64(0)
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if found := highWater.FindSubmatch(status); found != nil {
				kb, _ := strconv.ParseInt(string(found[1]), 10, 64)
				most = max(most, kb<<10)
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() int64 { close(stop); <-done; return most }
}
