package figures_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// sample is what a program takes at a time. Bytes of the heap are those after a collection.
type sample struct{ Resident, Heap, Descriptors, Goroutines int }

// measures are the parts of a sample: by how much each may exceed a tenth more than it was, and how to print it.
var measures = []struct {
	name  string
	of    func(sample) int
	slack int
	unit  int
}{
	{"resident memory, MiB", func(s sample) int { return s.Resident }, 16 << 20, 1 << 20},
	{"heap after a collection, MiB", func(s sample) int { return s.Heap }, 4 << 20, 1 << 20},
	{"descriptors", func(s sample) int { return s.Descriptors }, 10, 1},
	{"goroutines", func(s sample) int { return s.Goroutines }, 20, 1},
}

// answerSamples answers each line with a sample of this process, until there are no more.
func answerSamples(asked io.Reader, answered io.Writer) {
	in := bufio.NewScanner(asked)
	out := json.NewEncoder(answered)
	for in.Scan() {
		if out.Encode(takeSample()) != nil {
			return
		}
	}
}

func takeSample() (s sample) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.Heap, s.Goroutines = int(m.HeapAlloc), runtime.NumGoroutine()
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.Descriptors = len(open)
	}
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := bytes.Cut(status, []byte("VmRSS:")); ok {
		_, _ = fmt.Sscan(string(rest), &s.Resident)
		s.Resident <<= 10
	}
	return s
}

// program is the program parley as a child of this process.
type program struct {
	name    string
	cmd     *exec.Cmd
	lines   []string // the first ones that it printed
	out     *bufio.Reader
	errors  string // the file of what it says about its work
	ask     *os.File
	answers *json.Decoder
	samples []sample
}

// startProgram starts parley with the given arguments, and reads so many lines of what it prints.
func startProgram(t testing.TB, lines int, args ...string) *program {
	t.Helper()
	asked, ask, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, answered, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{name: args[0], cmd: exec.Command(self, args...), errors: filepath.Join(t.TempDir(), "stderr"), ask: ask,
		answers: json.NewDecoder(answers)}
	said, err := os.Create(p.errors)
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Env = append(os.Environ(), childOf+"=1")
	p.cmd.ExtraFiles = []*os.File{asked, answered}
	p.cmd.Stderr = said
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _, _ = asked.Close(), answered.Close(), said.Close()
	t.Cleanup(func() { _, _ = ask.Close(), answers.Close() })
	t.Cleanup(func() { p.interrupt(t) })
	p.out = bufio.NewReader(out)
	for range lines {
		line, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatal(p.name, err)
		}
		p.lines = append(p.lines, strings.TrimSpace(line))
	}
	return p
}

// interrupt ends the program, if it has not ended.
func (p *program) interrupt(t testing.TB) {
	t.Helper()
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Signal(os.Interrupt)
		p.wait(t)
	}
}

// wait waits until the program has ended, which must be without an error.
func (p *program) wait(t testing.TB) {
	t.Helper()
	text, _ := io.ReadAll(p.out)
	if err := p.cmd.Wait(); err != nil {
		said, _ := os.ReadFile(p.errors)
		t.Errorf("%s ended with %v:\n%s\n%s", strings.Join(p.cmd.Args[1:], " "), err, text, said[max(len(said)-2000, 0):])
	}
}

// take takes a sample.
func (p *program) take(t *testing.T) {
	t.Helper()
	var s sample
	_, err := p.ask.WriteString("\n")
	if err == nil {
		err = p.answers.Decode(&s)
	}
	if err != nil {
		t.Fatalf("%s gives no sample: %v", p.name, err)
	}
	p.samples = append(p.samples, s)
}

// compareThirds compares the medians of the first and the last third of the samples.
func (p *program) compareThirds(t *testing.T, judge bool) {
	t.Helper()
	third := max(len(p.samples)/3, 1)
	for _, m := range measures {
		first, last := medianOf(p.samples[:third], m.of), medianOf(p.samples[len(p.samples)-third:], m.of)
		t.Logf("%-8s  %-28s  %8.1f  %8.1f", p.name, m.name, float64(first)/float64(m.unit), float64(last)/float64(m.unit))
		if judge && last > first+first/10+m.slack {
			t.Errorf("%s: %s grew from %d to %d", p.name, m.name, first, last)
		}
	}
}

func medianOf(samples []sample, of func(sample) int) int {
	all := make([]int, 0, len(samples))
	for _, s := range samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
