package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShare(t *testing.T) {
	of := func(name, protocol string, bare bool, drivers ...string) *subject {
		p := suite.Kinds().New(protocol)
		p.Name, p.Drivers = name, drivers
		return &subject{profile: p, bare: bare}
	}
	both := of("both", "agent-select", false, "sse", "ws")
	only := of("only", "agent-select", false, "ws")
	bare := of("bare", "agent-select", true, "sse")
	chat := of("chat", "session-chat", false, "ws")
	bareChat := of("bare chat", "session-chat", true, "ws")
	host, relay := of("host", "external-agent", false, "ws"), of("relay", "external-agent", false, "ws")
	orchestrator := of("orchestrator", "session-runtime", false, "ws", "stdio")
	ours := of("ours", "session-runtime", false, "ws", "stdio")
	ours.bundled = true
	page := of("page", "agent-client", true, "browser")
	bareBus := of("bare bus", "session-runtime", true, "ws")
	type subjects []*subject
	for _, tt := range []struct {
		s     subjects
		asked []string
		want  [][]string
		err   string
	}{
		{subjects{both}, nil, [][]string{{"sse", "ws"}}, ""},
		{subjects{both}, []string{"ws"}, [][]string{{"ws"}}, ""},
		{subjects{both}, []string{"all"}, [][]string{{"sse", "ws", "r3labs"}}, ""},
		{subjects{both}, []string{"ws", "all"}, [][]string{{"ws", "sse", "r3labs"}}, ""},
		{subjects{both}, []string{"r3labs"}, [][]string{{"r3labs"}}, ""},
		{subjects{both}, []string{"tcp"}, nil,
			`--driver: unknown driver "tcp" (known: sse, ws, stdio, post, browser, r3labs, all)`},
		{subjects{only}, []string{"all"}, [][]string{{"ws"}}, ""},
		{subjects{only}, []string{"sse"}, nil, "--driver: only declares no driver sse (declared: ws)"},
		{subjects{only}, []string{"r3labs"}, nil, "--driver: only declares no driver r3labs (declared: ws)"},
		{subjects{only}, []string{"ws", "sse"}, nil, "--driver: only declares no driver sse (declared: ws)"},
		{subjects{bare}, []string{"ws"}, [][]string{{"ws"}}, ""},
		{subjects{bare}, []string{"all"}, [][]string{{"sse", "r3labs"}}, ""},
		{subjects{bareChat}, []string{"sse"}, nil, "--driver: bare chat declares no driver sse (declared: ws)"},

		{subjects{orchestrator}, nil, [][]string{{"ws", "stdio"}}, ""},
		{subjects{ours}, nil, [][]string{{"ws"}}, ""},
		{subjects{ours}, []string{"all"}, [][]string{{"ws", "stdio"}}, ""},
		{subjects{ours}, []string{"stdio"}, [][]string{{"stdio"}}, ""},
		{subjects{bareBus}, []string{"all"}, [][]string{{"ws"}}, ""},
		{subjects{bareBus}, []string{"stdio"}, nil, "--driver: bare bus declares no driver stdio (declared: ws)"},
		{subjects{both, ours}, []string{"stdio"}, nil,
			"--driver stdio: agent-select has only sse, ws, r3labs (leave it out: --protocol session-runtime)"},

		{subjects{page}, nil, [][]string{{"browser"}}, ""},
		{subjects{page}, []string{"all"}, [][]string{{"browser"}}, ""},
		{subjects{page}, []string{"sse"}, nil, "--driver: page declares no driver sse (declared: browser)"},
		{subjects{both, page}, []string{"browser"}, nil,
			"--driver browser: agent-select has only sse, ws, r3labs (leave it out: --protocol agent-client)"},
		{subjects{both, chat}, nil, [][]string{{"sse", "ws"}, {"ws"}}, ""},
		{subjects{both, chat}, []string{"all"}, [][]string{{"sse", "ws", "r3labs"}, {"ws"}}, ""},
		{subjects{both, chat}, []string{"ws"}, [][]string{{"ws"}, {"ws"}}, ""},
		{subjects{both, chat}, []string{"sse", "ws"}, [][]string{{"sse", "ws"}, {"ws"}}, ""},
		{subjects{both, chat}, []string{"sse"}, nil,
			"--driver sse: session-chat has only ws (leave it out: --protocol agent-select)"},
		{subjects{both, chat}, []string{"sse", "r3labs"}, nil,
			"--driver sse,r3labs: session-chat has only ws (leave it out: --protocol agent-select)"},
		{subjects{both, host, relay}, []string{"ws"}, [][]string{{"ws"}, {"ws"}, {"ws"}}, ""},
		{subjects{host, both, relay}, []string{"sse"}, nil,
			"--driver sse: external-agent has only ws (leave it out: --protocol agent-select)"},
		{subjects{only, chat}, []string{"sse"}, nil, "--driver: only, chat declares no driver sse (declared: ws)"},
	} {
		got, err := shareDrivers(tt.s, tt.asked)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || said != tt.err || err != nil && exitCode(err) != 2 {
			t.Errorf("%s, --driver %v: %v, want %s\n%s", tt.s[0].profile.Name, tt.asked, err, tt.err, diff)
		}
	}
}

// TestUntried: of a URL alone, one line says which drivers were not tried; nothing is said if they were asked for, or
// if a protocol has no other.
func TestUntried(t *testing.T) {
	for _, tt := range []struct {
		protocol string
		asked    []string
		want     int
	}{
		{"agent-select", nil, 1}, {"agent-select", []string{"sse"}, 0}, {"session-chat", nil, 0},
		{"session-runtime", nil, 0}, {"agent-client", nil, 0},
	} {
		subjects, err := subjectsOf("http://127.0.0.1:1", []string{tt.protocol}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := describeUntried(subjects, tt.asked)
		const said = "ws was not tried: a URL alone is judged over sse (add --driver sse,ws"
		if len(got) != tt.want || tt.want == 1 && !strings.HasPrefix(got[0], said) {
			t.Errorf("%s %q: %q", tt.protocol, tt.asked, got)
		}
	}
	subjects, err := subjectsOf("", []string{"agent-select"}, nil)
	if got := describeUntried(subjects, nil); err != nil || len(got) > 0 {
		t.Errorf("a bundled target: %q, %v", got, err)
	}
}
