package binding

import (
	"errors"
	"parley/internal/profiletest"
	agentselect "parley/steps/agentselect/binding"
	"parley/target"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Heads of profiles that have an error.
const (
	bare = "protocol: agent-client\n"
	head = "url: http://x\nprotocol: agent-client\n"
)

// clientMistakes are errors in a profile, and their messages.
var clientMistakes = []struct{ reason, head, yaml, want string }{
	{"a driver of another protocol", head, "drivers: [sse]",
		`p.yaml:3:11: drivers[0]: unknown driver "sse" (known here: browser)`},
	{"its driver, of another protocol", "url: http://x\n", "drivers: [browser]",
		`p.yaml:2:11: drivers[0]: unknown driver "browser" (known here: sse, ws)`},
	{"a capability of another protocol", head, "capabilities: [health]",
		`p.yaml:3:16: capabilities[0]: unknown capability "health" (known here: session-list)`},
	{"a role of another protocol", head, "role: server",
		`p.yaml:3:7: role: unknown role "server" of agent-client (known here: client)`},
	{"the wire of another protocol", head, "session-chat: {}",
		`p.yaml:3:1: session-chat: the protocol of this profile is agent-client` +
			` (delete this section, or write protocol: session-chat)`},
	{"its section, and no protocol", "url: http://x\n", "agent-client: {}",
		`p.yaml:2:1: agent-client: the protocol of this profile is agent-select` +
			` (delete this section, or write protocol: agent-client)`},
	{"an error in its server's wire", head, "agent-select: {correlation: double}",
		`p.yaml:3:29: agent-select.correlation: unknown correlation "double"` +
			` (write single, {body: connectionId} or {header: X-Connection-Id})`},
	{"an error in an endpoint of its server", head, "agent-select: {sse: {stream: events}}",
		`p.yaml:3:30: agent-select.sse.stream: "events" does not start with a slash`},

	{"no page", bare, "",
		`p.yaml:1:1: url: nothing to test` +
			` (give agent-client.folder, the url of a page that is served, or a command that serves one)`},
	{"no page, in an empty folder", bare, "agent-client: {folder: ''}",
		`p.yaml:1:1: url: nothing to test` +
			` (give agent-client.folder, the url of a page that is served, or a command that serves one)`},
	{"a folder and a URL", head, "agent-client: {folder: dist}",
		`p.yaml:1:6: url: the page cannot be in agent-client.folder too (choose one)`},
	{"a folder and an empty URL", bare, "url: ''\nagent-client: {folder: dist}",
		`p.yaml:2:6: url: the page cannot be in agent-client.folder too (choose one)`},
	{"a folder and a command", bare, "command: {run: [x]}\nagent-client: {folder: dist}",
		`p.yaml:2:10: command: the harness serves agent-client.folder itself (choose one)`},
	{"a file and no folder", head, "agent-client: {file: true}",
		`p.yaml:3:22: agent-client.file: there is no folder to open the page in` +
			` (give agent-client.folder, or delete the line)`},
	{"a URL with a query", bare, "url: http://x/?a=b",
		`p.yaml:2:6: url: "http://x/?a=b" is more than a base URL (no user, query or fragment; see agent-client.page)`},

	{"a page without a slash", head, "agent-client: {page: index.html}",
		`p.yaml:3:22: agent-client.page: "index.html" does not start with a slash (write it like /index.html?x=1)`},
	{"a page elsewhere", head, "agent-client: {page: //y/index.html}",
		`p.yaml:3:22: agent-client.page: "//y/index.html" is not a path (write it like /index.html?x=1)`},
	{"a page that is not a path", head, "agent-client: {page: /a%zz}",
		`p.yaml:3:22: agent-client.page: "/a%zz" is not a path (write it like /index.html?x=1)`},
	{"a page above the folder", bare, "agent-client: {folder: dist, page: /../index.html}",
		`p.yaml:2:36: agent-client.page: "/../index.html" leads upwards (a path below the folder or the url, without ..)`},
	{"a page above the folder, escaped", bare, "agent-client: {folder: dist, page: /%2e%2e/index.html}",
		`p.yaml:2:36: agent-client.page: "/%2e%2e/index.html" leads upwards` +
			` (a path below the folder or the url, without ..)`},
	{"no page of a folder", bare, "agent-client: {folder: dist, page: ''}",
		`p.yaml:2:36: agent-client.page: is empty (delete the line for the default)`},
	{"a parameter twice", head, "agent-client: {page: '/?server=a', server: {parameter: server}}",
		`p.yaml:3:22: agent-client.page: "/?server=a" has the parameter server already` +
			` (take it out: agent-client.server declares it)`},
	{"an unknown key", head, "agent-client: {langauge: zh}",
		`p.yaml:3:16: agent-client: unknown key "langauge" (did you mean "language"?)`},
	{"text for a bool", head, "agent-client: {file: 'yes'}",
		`p.yaml:3:22: agent-client.file: expected true or false, found text`},
	{"no language", head, "agent-client: {language: zh_CN}",
		`p.yaml:3:26: agent-client.language: "zh_CN" is not a language tag (write it like zh-CN)`},
	{"an empty language", head, "agent-client: {language: ''}",
		`p.yaml:3:26: agent-client.language: "" is not a language tag (write it like zh-CN)`},
	{"a URL for a host", head, "agent-client: {allow: [a, 'https://b']}",
		`p.yaml:3:27: agent-client.allow[1]: "https://b" is not a host (write it like fonts.example.org, or ` +
			`example.org:8443)`},
	{"a host with an impossible port", head, "agent-client: {allow: ['b:70000']}",
		`p.yaml:3:24: agent-client.allow[0]: 70000 is not a port (1 to 65535)`},
	{"a host twice", head, "agent-client: {allow: [a, a]}",
		`p.yaml:3:27: agent-client.allow[1]: the host "a" is given twice`},
	{"text for hosts", head, "agent-client: {allow: a}",
		`p.yaml:3:23: agent-client.allow: expected a list, found text (write it in brackets: [...])`},

	{"no way to pass the server's address", head, "agent-client: {hooks: {server-url: ''}}",
		`p.yaml:3:36: agent-client.hooks.server-url: is empty, so the page cannot learn its server's address` +
			` (name the field, or give agent-client.server.parameter)`},
	{"a server without its address", head, "agent-client: {server: {value: /events}}",
		`p.yaml:3:32: agent-client.server.value: it does not contain the server's address` +
			` (write {url} where its base URL belongs)`},
	{"another placeholder", head, "agent-client: {server: {value: '{url}{port}'}}",
		`p.yaml:3:32: agent-client.server.value: {port} has no meaning here (known here: {url})`},

	{"an unknown hook", head, "agent-client: {hooks: {conect: a}}",
		`p.yaml:3:24: agent-client.hooks: unknown key "conect" (did you mean "connect"?)`},
	{"an empty required hook", head, "agent-client: {hooks: {connect: ''}}",
		`p.yaml:3:33: agent-client.hooks.connect: is empty (delete the line for the default)`},
	{"a hook that is blank", head, "agent-client: {hooks: {loading: ' '}}",
		`p.yaml:3:33: agent-client.hooks.loading: is empty (delete the line for the default)`},
	{"a selector that YAML reads as a comment", head, "agent-client:\n  hooks:\n    connect: #connect\n    chat: p",
		`p.yaml:5:5: agent-client.hooks.connect: has no value` +
			` (give it one, or delete the line; a value that starts with # must be quoted)`},
	{"no list, but the capability", head, "capabilities: [session-list]\nagent-client: {hooks: {sessions: ''}}",
		`p.yaml:4:34: agent-client.hooks.sessions: is empty, but the page has session-list` +
			` (name the list, or delete the capability)`},
	{"text for a hook that is not a control", head, "agent-client: {hooks: {log-row: text=x}}",
		`p.yaml:3:33: agent-client.hooks.log-row: "text=x" names a control, but this hook is not one (write a CSS ` +
			`selector)`},
	{"no text", head, "agent-client: {hooks: {send: 'text= '}}",
		`p.yaml:3:30: agent-client.hooks.send: text= without a text (write the visible text of the control, ` +
			`like text=Connect)`},
	{"an open bracket", head, "agent-client: {hooks: {send: 'a[b'}}",
		`p.yaml:3:30: agent-client.hooks.send: "a[b" is not a CSS selector: ] is missing`},
	{"a bracket that closes nothing", head, "agent-client: {hooks: {send: 'a:not(.b]'}}",
		`p.yaml:3:30: agent-client.hooks.send: "a:not(.b]" is not a CSS selector: ] closes nothing`},
	{"an open quote", head, `agent-client: {hooks: {level-info: "[a='b]"}}`,
		`p.yaml:3:36: agent-client.hooks.level-info: "[a='b]" is not a CSS selector: ' is missing`},
	{"a brace", head, "agent-client: {hooks: {send: 'a {}'}}",
		`p.yaml:3:30: agent-client.hooks.send: "a {}" is not a CSS selector: { cannot stand in a selector`},
	{"an escape at the end", head, `agent-client: {hooks: {send: 'a\'}}`,
		`p.yaml:3:30: agent-client.hooks.send: "a\\" is not a CSS selector: it ends in a \`},
}

// TestClientMistakes checks the errors of a page and its hooks, one each, with a location.
func TestClientMistakes(t *testing.T) {
	for _, tt := range clientMistakes {
		t.Run(tt.reason, func(t *testing.T) { profiletest.Mistaken(t, kinds, tt.head+tt.yaml+"\n", tt.want) })
	}
}

// atURL changes the binding in the profile of a page at a URL.
func atURL(f func(*Binding)) func(*target.Profile) {
	return func(p *target.Profile) { p.URL = "http://x"; f(Of(p)) }
}

// clientProfiles are profiles and what they change.
var clientProfiles = []struct {
	reason, yaml string
	want         func(*target.Profile)
}{
	{"a URL is enough", "url: http://x", atURL(func(*Binding) {})},
	{"a URL of a folder", "url: http://x/app/", func(p *target.Profile) { p.URL = "http://x/app" }},
	{"a URL of the page itself", "url: http://x/chat.html", func(p *target.Profile) {
		p.URL, Of(p).Page = "http://x/chat.html", ""
	}},
	{"a page below a URL", "url: http://x/app\nagent-client: {page: '/?a=b#c'}", func(p *target.Profile) {
		p.URL, Of(p).Page = "http://x/app", "/?a=b#c"
	}},
	{"no page below a URL", "url: http://x\nagent-client: {page: ''}", atURL(func(a *Binding) { a.Page = "" })},
	{"a command is enough", "command: {run: [x]}", func(p *target.Profile) {
		p.URL, p.Command = "http://127.0.0.1:{port}", target.NewCommand("x")
	}},
	{"a folder is enough", "agent-client: {folder: dist}", func(p *target.Profile) { Of(p).Folder = "dist" }},
	{"a folder's file", "agent-client: {folder: dist, file: true, page: /a%20b.html}", func(p *target.Profile) {
		Of(p).Folder, Of(p).File, Of(p).Page = "dist", true, "/a%20b.html"
	}},
	{"hosts", "url: http://x\nagent-client: {allow: [a.example, 'a.example:80', '[::1]:443', 10.0.0.1]}",
		atURL(func(a *Binding) { a.Allow = []string{"a.example", "a.example:80", "[::1]:443", "10.0.0.1"} })},
	{"a browser and its language", "url: http://x\nagent-client: {browser: ./chrome, language: en}",
		atURL(func(a *Binding) { a.Browser, a.Language = "./chrome", "en" })},
	{"a parameter alone", "url: http://x\nagent-client: {server: {parameter: api, value: '{url}/events'}, " +
		"hooks: {server-url: ''}}",
		atURL(func(a *Binding) { a.Server, a.Hooks.ServerURL = PageServer{"api", "{url}/events"}, "" })},
	{"hooks keep the others", `{url: http://x, agent-client: {hooks: ` +
		`{connect: text=连接, send: '[a="]"] > b:not(.c\[)', log-row: tr}}}`,
		atURL(func(a *Binding) {
			a.Hooks.Connect, a.Hooks.Send, a.Hooks.LogRow = "text=连接", `[a="]"] > b:not(.c\[)`, "tr"
		})},
	{"no sessions", "url: http://x\nagent-client: {hooks: {sessions: ''}}",
		atURL(func(a *Binding) { a.Hooks.Sessions = "" })},
	{"empty by default", "url: http://x\nagent-client: {hooks: {log-row: '', level-info: '', level-error: '', " +
		"loading: '', dismiss: '', session: ''}}",
		atURL(func(*Binding) {})},
	{"a capability", "url: http://x\ncapabilities: [session-list]", func(p *target.Profile) {
		p.URL, p.Capabilities = "http://x", []string{SessionList}
	}},
	{"its server's wire", "url: http://x\nagent-select: {sse: {stream: /sse}, correlation: single}",
		func(p *target.Profile) {
			p.URL, agentselect.Of(p).SSE.Stream.Path = "http://x", "/sse"
			agentselect.Of(p).Correlation = agentselect.Correlation{Single: true}
		}},
}

func TestParseClient(t *testing.T) {
	for _, tt := range clientProfiles {
		t.Run(tt.reason, func(t *testing.T) {
			want := Kind().New()
			want.Name = "profile"
			tt.want(want)
			yaml := "protocol: agent-client\n" + tt.yaml + "\n"
			if tt.yaml[0] == '{' {
				yaml = "{protocol: agent-client, " + tt.yaml[1:] + "\n"
			}
			got := profiletest.Parse(t, kinds, yaml)
			if diff := profiletest.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPageURL(t *testing.T) {
	for _, tt := range []struct {
		reason, base string
		change       func(*Binding)
		want         string
	}{
		{"the default", "http://x:1", func(*Binding) {}, "http://x:1/"},
		{"a URL that is the page", "http://x/chat.html", func(a *Binding) { a.Page = "" }, "http://x/chat.html"},
		{"a parameter", "http://x", func(a *Binding) { a.Server.Parameter = "api" },
			"http://x/?api=http%3A%2F%2F127.0.0.1%3A9"},
		{"a parameter beside others, before a fragment", "http://x",
			func(a *Binding) {
				a.Page, a.Server = "/a.html?b=c#/d?e", PageServer{"the api", "{url}/events"}
			},
			"http://x/a.html?b=c&the+api=http%3A%2F%2F127.0.0.1%3A9%2Fevents#/d?e"},
		{"no parameter", "http://x", func(a *Binding) { a.Page = "/a?b=c#d" }, "http://x/a?b=c#d"},
		{"a file", "file:///a%20b", func(a *Binding) { a.File, a.Page = true, "/c.html" }, "file:///a%20b/c.html"},
		{"a folder's file", "file:///a", func(a *Binding) {
			a.File, a.Server.Parameter = true, "api"
		}, "file:///a/index.html?api=http%3A%2F%2F127.0.0.1%3A9"},
	} {
		a := Default()
		tt.change(&a)
		if got := a.PageURL(tt.base, "http://127.0.0.1:9"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}

func TestByText(t *testing.T) {
	if text, ok := ByText("text=Connect"); text != "Connect" || !ok {
		t.Errorf("text: %q, %v", text, ok)
	}
	if selector, ok := ByText("#a[text=b]"); selector != "#a[text=b]" || ok {
		t.Errorf("selector: %q, %v", selector, ok)
	}
}

func TestPageFolder(t *testing.T) {
	abs := t.TempDir()
	for _, tt := range []struct{ reason, dir, folder, want string }{
		{"none", abs, "", ""},
		{"relative to the profile", abs, "dist", filepath.Join(abs, "dist")},
		{"relative to the working directory", "", "dist", "dist"},
		{"absolute", "x", abs, abs},
	} {
		p := Kind().New()
		p.Dir, Of(p).Folder = tt.dir, tt.folder
		if got := PageFolder(p); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestBrowserProgram(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ reason, browser, want string }{
		{"any", "", ""},
		{"a name on the PATH", "chromium", "chromium"},
		{"a path", "./chromium", filepath.Join(dir, "chromium")},
		{"an absolute path", filepath.Join(dir, "x"), filepath.Join(dir, "x")},
	} {
		p := Kind().New()
		p.Dir, Of(p).Browser = dir, tt.browser
		if got := BrowserProgram(p); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestPageConcurrency(t *testing.T) {
	p := Kind().New()
	agentselect.Of(p).Correlation = agentselect.Correlation{Single: true} // each page has its own server
	if got := p.ParallelOver(target.Browser); got != Concurrency() {
		t.Errorf("by default %d", got)
	}
	p.Concurrency = 7
	if got := p.ParallelOver(target.Browser); got != 7 {
		t.Errorf("a number: %d", got)
	}
}

func TestForURLOfClient(t *testing.T) {
	for _, tt := range []struct{ reason, url, base, page string }{
		{"a host", "http://x:80", "http://x:80", "/"},
		{"a folder", "https://x/app/", "https://x", "/app/"},
		{"a page", "http://x/app/chat.html?a=b#c", "http://x", "/app/chat.html?a=b#c"},
		{"a query alone", "http://x?a=b", "http://x", "/?a=b"},
	} {
		p, err := Kind().ForURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		want := []string{tt.base, tt.page, target.Browser}
		if diff := cmp.Diff(want, append([]string{p.URL, Of(p).Page}, p.Drivers...)); diff != "" {
			t.Errorf("%s: URL, page, drivers (-want +got):\n%s", tt.reason, diff)
		}
	}
	for _, bad := range []string{"", "x", "ftp://x/", "ws://x/", "http://", "http://a@x/", "http://x//y",
		"http://x/../y"} {
		_, err := Kind().ForURL(bad)
		var at *target.ProfileError
		if !errors.As(err, &at) || at.Line != 0 {
			t.Errorf("%q: got %v, want a *target.ProfileError without a place", bad, err)
		}
	}
}
