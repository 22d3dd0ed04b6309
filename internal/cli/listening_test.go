package cli

import (
	"net"
	"strings"
	"testing"
)

// TestListening: each command that listens says alike which flag is at fault, why, and what to do.
func TestListening(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := taken.Addr().String()
	for _, c := range []struct {
		flag string
		args []string
	}{
		{"--listen", []string{"serve"}},
		{"--console", []string{"simulate"}},
		{"--listen", []string{"proxy", "--target", "http://127.0.0.1:1", "--protocol", "agent-select", "--out", t.TempDir()}},
	} {
		for addr, want := range map[string]struct {
			code int
			text string
		}{
			busy: {3, c.flag + ": " + busy + " is in use (port 0 takes a free one)"},
			"127.0.0.1:99999": {2, c.flag + " 127.0.0.1:99999: port 99999 is not a number from 0 to 65535 " +
				"(write it like 127.0.0.1:8124)"},
		} {
			var said strings.Builder
			s := &streams{In: strings.NewReader(""), Out: &said, Err: &said}
			if code := runParley(append(c.args, c.flag, addr), s); code != want.code ||
				!strings.HasSuffix(said.String(), "parley: "+want.text+"\n") {
				t.Errorf("%v %s: exit %d, %s", c.args, addr, code, &said)
			}
		}
	}
}

// TestUnstartedCommand: a program that is not there is named once, with what to do.
func TestUnstartedCommand(t *testing.T) {
	var said strings.Builder
	s := &streams{In: strings.NewReader(""), Out: &said, Err: &said}
	code := runParley([]string{"proxy", "--protocol", "session-runtime", "--out", t.TempDir(), "--", "/nope"}, s)
	const want = `parley: "/nope" after -- cannot be started: no such file or directory ` +
		"(name a program on the PATH, or give its path)\n"
	if code != 3 || !strings.Contains(said.String(), want) {
		t.Errorf("exit %d, %s", code, &said)
	}
}
