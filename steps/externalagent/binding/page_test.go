package binding

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/profiletest"
	"parley/target"
)

var pageMistakesRows = []struct{ reason, head, yaml, want string }{
	{"a page without a URL, and a field", agentMistakesHead, "external-agent: {page: {send: '#b'}}",
		`p.yaml:3:24: external-agent.page.url: no page (write a path below the url, like "/?session={session}", or a ` +
			"whole URL)\n" +
			`p.yaml:3:24: external-agent.page.input: no field to type into (write its CSS selector, like "#message")`},
	{"an unknown placeholder in a page", agentMistakesHead, "external-agent: {page: {url: '/{nonce}', input: a}}",
		`p.yaml:3:30: external-agent.page.url: {nonce} has no meaning here (known here: {session}, {port}, {port2})`},
	{"a second port without a command", agentMistakesHead,
		"external-agent: {page: {url: 'http://localhost:{port2}/', input: a}}",
		`p.yaml:3:30: external-agent.page.url: {port2} stands for a port of a command, but there is no command (give the ` +
			`port)`},
	{"a page that is a file", agentMistakesHead, "external-agent: {page: {url: 'file:///a.html', input: a}}",
		`p.yaml:3:30: external-agent.page.url: "file:///a.html" is not the URL of a page (write a path below the url, ` +
			`like "/?session={session}", or a whole URL)`},
	{"a page on a unix socket", "protocol: external-agent\nurl: unix:///run/a.sock\n",
		"external-agent: {page: {url: /, input: a}}",
		`p.yaml:3:30: external-agent.page.url: a browser does not open pages of a unix socket (give the whole http URL ` +
			`of the page)`},
	{"a selector that is not one", agentMistakesHead, "external-agent: {page: {url: /, input: '#a[b', send: ''}}",
		`p.yaml:3:40: external-agent.page.input: "#a[b" is not a CSS selector: ] is missing` + "\n" +
			`p.yaml:3:54: external-agent.page.send: is empty (delete the line for the default)`},
	{"a host that is not one", agentMistakesHead, "external-agent: {page: {url: /, input: a, allow: ['a b', c, c]}}",
		`p.yaml:3:51: external-agent.page.allow[0]: "a b" is not a host (write it like fonts.example.org, or ` +
			`example.org:8443)` + "\n" +
			`p.yaml:3:61: external-agent.page.allow[2]: the host "c" is given twice`},
	{"a page of a relay", agentMistakesHead + "role: relay\n", "external-agent: {page: {url: /, input: a}}",
		`p.yaml:4:24: external-agent.page: only a host has a page, and the role is relay (delete it)`},
	{"a page and a hook", agentMistakesHead + "hooks: {user-says: ./say}\n",
		"external-agent: {page: {url: /, input: a}}",
		`p.yaml:4:24: external-agent.page: the participant already speaks by hooks.user-says (choose one)`},
}

func TestPageMistakes(t *testing.T) {

	for _, tt := range pageMistakesRows {
		t.Run(tt.reason, func(t *testing.T) { profiletest.Mistaken(t, kinds, tt.head+tt.yaml+"\n", tt.want) })
	}
}

func TestParsePage(t *testing.T) {
	want := &HostPage{URL: "/?s={session}", Input: "#a", Send: "text=Go", Ready: "#b", Allow: []string{"c"}, Browser: "d"}
	p := profiletest.Parse(t, kinds, "protocol: external-agent\nurl: http://x\nexternal-agent: {page: {url: "+
		"'/?s={session}', input: '#a', send: text=Go, ready: '#b', allow: [c], browser: d}}\n")
	if diff := cmp.Diff(want, Of(p).Page); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := p.Reach(); r.Page != want.URL || r.Browser != "d" || r.BrowserKey != "external-agent.page.browser" {
		t.Errorf("reached as %+v", r)
	}
}

// TestParallelPages checks that scenarios share a page unless its URL names the relay session.
func TestParallelPages(t *testing.T) {
	p := Kind().New()
	Of(p).Session, Of(p).Page = "{nonce}", &HostPage{URL: "/{session}"}
	if got := p.Parallel(); got != target.ParallelPages() {
		t.Errorf("a host with a page for each session: %d, want %d", got, target.ParallelPages())
	}
	Of(p).Page.URL = "/"
	if got := p.Reach(); p.Parallel() != 1 || got.Shared != "one page (external-agent.page.url)" {
		t.Errorf("a host with one page: %d, %q", p.Parallel(), got.Shared)
	}
}
