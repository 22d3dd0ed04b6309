package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestPrintURL: stdout has the URL alone, and stderr says what it is; a terminal that shows both has it once.
func TestPrintURL(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name     string
		s        streams
		out, err string
	}{
		{"pipes", streams{}, "http://h\n", "page: http://h\n"},
		{"a pipe, and messages on a terminal", streams{ErrTTY: true}, "http://h\n", "page: http://h\n"},
		{"a terminal", streams{OutTTY: true, ErrTTY: true}, "http://h\n", "page: "},
		{"before a command", streams{pipe: &strings.Builder{}}, "http://h\n", ""},
	} {
		var out, err strings.Builder
		one.s.Out, one.s.Err = &out, &err
		one.s.printURL("page", "http://h")
		if out.String() != one.out || err.String() != one.err {
			t.Errorf("%s: %q on stdout and %q on stderr, want %q and %q", one.name, out.String(), err.String(), one.out,
				one.err)
		}
	}
}

// TestEndpointsAt: what a program connects to has its scheme and its path.
func TestEndpointsAt(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		protocol, as string
		want         []string
	}{
		{"agent-select", "server", []string{"http://h:1/events", "ws://h:1/agents/ws"}},
		{"external-agent", "relay", []string{"ws://h:1/agent/ws"}},
		{"session-chat", "model", []string{"http://h:1"}},
	} {
		if got := endpointsAt(one.protocol, one.as, "http://h:1"); !slices.Equal(got, one.want) {
			t.Errorf("%s of %s: %q, want %q", one.as, one.protocol, got, one.want)
		}
	}
}

// TestProtocolOfParty: a party that one protocol has needs no --protocol.
func TestProtocolOfParty(t *testing.T) {
	t.Parallel()
	for as, want := range map[string]string{"relay": "external-agent", "server": "agent-select",
		"nobody": "agent-select"} {
		if got := protocolOfParty(as); got != want {
			t.Errorf("%s: %s, want %s", as, got, want)
		}
	}
}
