package hostile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// write makes a file in the row's folder.
func write(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// writeRepeated is write with a text n times: rows are also made in the process of the harness, which is measured.
func writeRepeated(name, text string, n int) func(*testing.T, string) {
	return func(t *testing.T, dir string) { write(name, strings.Repeat(text, n))(t, dir) }
}

// pipe makes a pipe that nobody writes to.
func pipe(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// reads is a row of a command that reads a file.
func reads(name, does string, files func(*testing.T, string), says string, args ...string) row {
	return row{name: name, peer: "file", does: does, files: files, says: says, args: args, exit: 2,
		exits: []int{1, 3, 5}}
}

// tower is YAML of many levels.
func tower(n int) string { return strings.Repeat("[", n) }

const few = "@AS-029"

// fileRows are files that are given to commands.
var fileRows = []row{
	reads("a profile that is a pipe", "never gives a byte of a profile", pipe("x"), "nothing was written to it|pipe",
		"run", "--target", "x"),
	reads("a profile without end", "never ends as a profile", nil, "longer than",
		"run", "--target", "/dev/zero"),
	reads("a profile that is a folder", "is a folder where a profile should be", nil, "directory|index.html|folder",
		"run", "--target", "."),
	reads("a profile of many levels", "nests a profile 100,000 times", write("x.yaml", "name: "+tower(60_000)),
		"nested|levels|deep", "run", "--target", "x.yaml"),
	reads("a profile with a tag", "has a tag of YAML where a value should be", write("x.yaml",
		"name: !x\nprotocol: !!binary x\n"),
		"x.yaml:", "run", "--target", "x.yaml"),
	reads("a profile of aliases", "doubles itself by aliases", write("x.yaml",
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"+
			"c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n"+
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n"),
		"x.yaml", "run", "--target", "x.yaml"),
	reads("a profile in binary", "is a picture", write("x.yaml", "\x89PNG\r\n\x1a\n\x00\x00\xff\xfe"), "x.yaml",
		"run", "--target", "x.yaml"),
	reads("a profile in colours", "has codes of a terminal in its keys", write("x.yaml", "\"\\e[2J\": 1\n"), "x.yaml",
		"run", "--target", "x.yaml"),
	reads("a baseline that is a pipe", "never gives a byte of a baseline", pipe("x"), "nothing was written to it|pipe",
		"run", "--protocol", "agent-select", "--tags", few, "--baseline", "x"),
	reads("a baseline without end", "never ends as a baseline", nil, "longer than",
		"run", "--protocol", "agent-select", "--tags", few, "--baseline", "/dev/zero"),
	reads("a baseline of many levels", "nests a baseline 100,000 times", write("x.yaml", tower(100_000)),
		"nested|levels|deep",
		"run", "--protocol", "agent-select", "--tags", few, "--baseline", "x.yaml"),
	reads("a baseline with a tag", "has a tag of YAML in a baseline", write("x.yaml",
		"- clause: AS-001\n  expected: !x\n"),
		"x.yaml", "run", "--protocol", "agent-select", "--tags", few, "--baseline", "x.yaml"),
	reads("faults of many levels", "nests a faults file 100,000 times", write("x.yaml", tower(100_000)),
		"nested|levels|deep",
		"run", "--protocol", "agent-select", "--tags", few, "--faults", "x.yaml"),
	reads("faults that are a pipe", "never gives a byte of faults", pipe("x"), "nothing was written to it|pipe",
		"run", "--protocol", "agent-select", "--tags", few, "--faults", "x"),
	reads("a study log that is a pipe", "never gives a byte of a study log", pipe("x"),
		"nothing was written to it|pipe",
		"check-log", "x"),
	reads("a study log of one line", "never ends the line of a study log", writeRepeated("x.jsonl", "x", 80<<20),
		"x.jsonl|line", "check-log", "x.jsonl"),
	reads("a study log of many levels", "nests a study log 100,000 times", write("x.jsonl", deep(100_000)+"\n"),
		"x.jsonl|EA-", "check-log", "x.jsonl"),
	reads("results of nothing", "is no results file", write("x.json", "null"), "x.json", "report", "x.json"),
	reads("results of many levels", "nests results 100,000 times", write("x.json", deep(100_000)), "x.json",
		"report", "x.json"),
	reads("results without end", "never ends as results", nil, "/dev/zero: .*(longer than|not a JSON object)",
		"report", "/dev/zero"),
	reads("a recording of nothing", "is no recording", write("x.jsonl", "{}\n"), "x.jsonl", "recording", "x.jsonl"),
	reads("a recording without end", "never ends the line of a recording", nil, "line|larger|/dev/zero",
		"recording", "/dev/zero"),
	reads("a recording of many levels", "nests a recording 100,000 times", write("x.jsonl", deep(100_000)+"\n"),
		"x.jsonl",
		"mock", "x.jsonl"),
	reads("a certificate of many levels", "nests a certificate 100,000 times", write("x.json", deep(100_000)),
		"not valid: ",
		"verify", "x.json"),
	reads("a certificate without end", "never ends as a certificate", nil, "larger|more than|/dev/zero|certificate",
		"verify", "/dev/zero"),
	reads("an output that is a file", "is a file where the results should go", write("x", ""), "not a directory|folder",
		"run", "--protocol", "agent-select", "--tags", few, "--out", "x"),
	reads("features of nothing", "is no feature", write("x.feature", "\x00\xff\n"), "x.feature|scenario",
		"run", "--protocol", "agent-select", "--features", "x.feature"),
}
