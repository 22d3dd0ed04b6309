package target

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMistakesTogether checks that all mistakes of a profile are found at once, each with its place and its mend, and
// none that only follows from another one.
func TestMistakesTogether(t *testing.T) {
	for _, tt := range []struct{ name, yaml, want string }{
		{"of decoding and of checks, in the order of the file", `url: ftp://x
protocl: listening
limits: {open: 3, evnt: 1s}
drivers: [sse, wss]
headers: {"a b": x, T: "${NOT_SET}"}
concurrency: many
command: {run: [], copy: {../x: y}}
`, `p.yaml:1:6: url: "ftp://x" is not an http URL (write it like http://localhost:3000, or https://example.org/base)
p.yaml:2:1: unknown key "protocl" (did you mean "protocol"?)
p.yaml:3:16: limits.open: 3 has no unit (write 3s or 3ms)
p.yaml:3:19: limits: unknown key "evnt" (did you mean "event"?)
p.yaml:4:16: drivers[1]: unknown driver "wss" (did you mean "ws"?)
p.yaml:5:18: headers.a b: "a b" is not the name of an HTTP header
p.yaml:5:24: headers.T: the environment variable NOT_SET is not set (set it, or write $${ for a literal ${)
p.yaml:6:14: concurrency: expected a whole number, found text
p.yaml:7:16: command.run: no program to run (write it like run: [./server, --port, "{port}"])
p.yaml:7:33: command.copy.../x: "../x" lies outside of {dir} (a relative path without ..)`},
		{"a misspelt key is not missing too", "comand: {run: [x]}\ntools: {ask: {name: }}\n",
			`p.yaml:1:1: unknown key "comand" (did you mean "command"?)
p.yaml:2:15: tools.ask.name: has no value (give it one, or delete the line; a value that starts with # must be ` +
				"quoted)"},
		{"of a protocol that may be one of a folder", "protocol: ticket-desk\n",
			`p.yaml:1:11: protocol: unknown protocol "ticket-desk" (known here: dialling, listening, piping; ` +
				"one of your own is named by its folder: --protocol ./FOLDER)"},
		{"of an unknown protocol only what all have is checked", "protocol: listenin\ntoy: {what: 1}\nhooks: {restart: ''}\n",
			`p.yaml:1:11: protocol: unknown protocol "listenin" (did you mean "listening"?)
p.yaml:3:18: hooks.restart: no command (delete the line, or write : for a command that does nothing)`},
		{"one alone", "url: http://a\nname: 7\n", `p.yaml:2:7: name: expected text, found the number 7 (quote it: "7")`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := toys.Parse([]byte(tt.yaml), "p.yaml", nil)
			var first *ProfileError
			if !errors.As(err, &first) {
				t.Fatalf("got %v, want mistakes", err)
			}
			if diff := cmp.Diff(strings.Split(tt.want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestManyMistakes checks that a message stays short.
func TestManyMistakes(t *testing.T) {
	yaml := "url: http://a\n"
	for i := range 50 {
		yaml += fmt.Sprintf("zzz%d: 1\n", i)
	}
	_, err := toys.Parse([]byte(yaml), "p.yaml", nil)
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || lines[20] != "p.yaml: and 30 more" {
		t.Errorf("%d lines, the last one %q", len(lines), lines[len(lines)-1])
	}
}
