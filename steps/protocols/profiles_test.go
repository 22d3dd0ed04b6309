package protocols_test

import (
	"fmt"
	"parley/internal/profiletest"
	"parley/steps"
	selectwire "parley/steps/agentselect/binding"
	"parley/steps/protocols"
	"parley/target"

	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

var kinds = protocols.Kinds()

// TestMistakes: every mistake is one error with a place, and a mend where one is known.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ reason, yaml, want string }{
		{"an empty file", "", `p.yaml:1:1: the profile is empty (give at least a url or a command)`},
		{"comments alone", "# nothing\n", `p.yaml:1:1: the profile is empty (give at least a url or a command)`},
		{"neither url nor command", "name: x\n", `p.yaml:1:1: url: nothing to test (give the url of a running target, or a command that starts one)`},
		{"an empty url beside a command", "url: ''\ncommand: {run: [x]}\n", `p.yaml:1:6: url: nothing to test (give the url of a running target, or a command that starts one)`},
		{"not UTF-8", "url: \xff\n", `p.yaml:1:1: the profile is not UTF-8`},
		{"broken YAML", "url: http://x\nlimits: [1,\n", `p.yaml:2:9: not valid YAML: sequence end token ']' not found`},
		{"a tab as indentation", "limits:\n\topen: 1s\n", `p.yaml:2:1: not valid YAML: found character '	' that cannot start any token`},
		{"two documents", "url: http://x\n---\nurl: http://y\n", `p.yaml:3:1: a second document (a profile is one YAML document)`},
		{"a list for a profile", "- url: http://x\n", `p.yaml:1:1: expected a mapping, found a list`},
		{"text for a profile", "http://x\n", `p.yaml:1:1: expected a mapping, found text`},
		{"a duplicate key", "url: http://x\nurl: http://y\n", `p.yaml:2:1: not valid YAML: mapping key "url" already defined at [1:1]`},
		{"a duplicate key in quotes", "url: http://x\n\"url\": http://y\n", `p.yaml:2:1: not valid YAML: mapping key "url" already defined at [1:1]`},
		{"a key that is no text", "url: http://x\n1: 2\n", `p.yaml:2:1: the key 1 is not text (quote it)`},
		{"an anchor", "url: &a http://x\n", `p.yaml:1:6: url: anchors and aliases are not read (write the value out)`},
		{"a merge key", "url: http://x\nlimits:\n  <<: {open: 1s}\n", `p.yaml:3:3: limits: the key << is not text (quote it)`},
		{"a tag", "url: !!str http://x\n", `p.yaml:1:6: url: tags are not read (write the plain value)`},
		{"a missing value", "url: http://x\nlimits:\n  open:\n", `p.yaml:3:3: limits.open: has no value (give it one, or delete the line)`},

		{"an unknown key with a neighbour", "url: http://x\nlimts: {}\n", `p.yaml:2:1: unknown key "limts" (did you mean "limits"?)`},
		{"two letters swapped", "url: http://x\nlimits: {opne: 1s}\n", `p.yaml:2:10: limits: unknown key "opne" (did you mean "open"?)`},
		{"the wrong kind of dash", "url: http://x\nprovoke: {running-turn: x}\n", `p.yaml:2:11: provoke: unknown key "running-turn" (did you mean "running_turn"?)`},
		{"an unknown key like nothing", "url: http://x\nmodel: {zzz: 1}\n", `p.yaml:2:9: model: unknown key "zzz" (known here: env, hook)`},
		{"Go's names are no keys", "URL: http://x\n", `p.yaml:1:1: unknown key "URL" (did you mean "url"?)`},

		{"a number for text", "url: http://x\nname: 5\n", `p.yaml:2:7: name: expected text, found the number 5 (quote it: "5")`},
		{"a truth for text", "url: http://x\nname: true\n", `p.yaml:2:7: name: expected text, found true (quote it: "true")`},
		{"an unquoted placeholder", "command:\n  run: [srv, {port}]\n", `p.yaml:2:14: command.run[1]: expected text, found a mapping (a value that starts with { is to be quoted: "{port}")`},
		{"a number in an environment", "command: {run: [x], env: {PORT: 80}}\n", `p.yaml:1:33: command.env.PORT: expected text, found the number 80 (quote it: "80")`},
		{"text for a list", "command: {run: ./server}\n", `p.yaml:1:16: command.run: expected a list, found text (write it in brackets: [...])`},
		{"text for a number", "url: http://x\nconcurrency: many\n", `p.yaml:2:14: concurrency: expected a whole number, found text`},
		{"a fraction for a whole number", "url: http://x\nconcurrency: 1.5\n", `p.yaml:2:14: concurrency: expected a whole number, found the number 1.5`},
		{"a negative number", "url: http://x\nconcurrency: -1\n", `p.yaml:2:14: concurrency: -1 is out of range`},
		{"text for a mapping", "url: http://x\nlimits: fast\n", `p.yaml:2:9: limits: expected a mapping, found text`},
		{"NaN is no JSON", "url: http://x\ntools: {ask: {name: a, arguments: {x: .nan}}}\n", `p.yaml:2:39: tools.ask.arguments.x: expected a JSON value, found the number .nan`},

		{"a bare number for a duration", "url: http://x\nlimits:\n  open: 5\n", `p.yaml:3:9: limits.open: 5 has no unit (write 5s or 5ms)`},
		{"a bare fraction for a duration", "url: http://x\nlimits:\n  open: 1.5\n", `p.yaml:3:9: limits.open: 1.5 has no unit (write 1.5s or 1.5ms)`},
		{"an unknown unit", "url: http://x\nlimits: {open: 5 sec}\n", `p.yaml:2:16: limits.open: "5 sec" is no duration (write a number with its unit, like 2s, 150ms or 1m30s)`},
		{"no time at all", "url: http://x\nlimits: {open: 0s}\n", `p.yaml:2:16: limits.open: 0s is not more than nothing (write a number with its unit, like 2s or 150ms)`},
		{"a size in decimal units", "url: http://x\nlimits: {max-event: 8MB}\n", `p.yaml:2:21: limits.max-event: "8MB" is no size (write a number of bytes, or one with B, KiB, MiB or GiB)`},
		{"a size beyond all", "url: http://x\nlimits: {max-event: 99999999999GiB}\n", `p.yaml:2:21: limits.max-event: 99999999999GiB is too large`},

		{"an unknown protocol", "url: http://x\nprotocol: agent-selekt\n", `p.yaml:2:11: protocol: unknown protocol "agent-selekt" (did you mean "agent-select"?)`},
		{"an unknown driver", "url: http://x\ndrivers: [sse, websocket]\n", `p.yaml:2:16: drivers[1]: unknown driver "websocket" (known here: sse, ws)`},
		{"a driver twice", "url: http://x\ndrivers: [ws, ws]\n", `p.yaml:2:15: drivers[1]: the driver "ws" is given twice`},
		{"no driver", "url: http://x\ndrivers: []\n", `p.yaml:2:10: drivers: no driver (known here: sse, ws)`},
		{"an unknown capability", "url: http://x\ncapabilities:\n  - sesion-list\n", `p.yaml:3:5: capabilities[0]: unknown capability "sesion-list" (did you mean "session-list"?)`},

		{"no scheme", "url: localhost:3000\n", `p.yaml:1:6: url: "localhost:3000" is no http URL (write it like http://localhost:3000, or https://example.org/base)`},
		{"a WebSocket URL", "url: ws://x\n", `p.yaml:1:6: url: "ws://x" is no http URL (give the http one; the ws driver makes its own of it)`},
		{"no host", "url: http://:80\n", `p.yaml:1:6: url: "http://:80" names no host (write it like http://localhost:3000, or https://example.org/base)`},
		{"no URL at all", "url: 'http://x y'\n", `p.yaml:1:6: url: "http://x y" is no URL (write it like http://localhost:3000, or https://example.org/base)`},
		{"a query", "url: http://x?a=b\n", `p.yaml:1:6: url: "http://x?a=b" is more than a base URL (no user, query or fragment; see headers)`},
		{"no port has this number", "url: http://x:70000\n", `p.yaml:1:6: url: 70000 is no port (1 to 65535)`},
		{"{port} without a command", "url: http://x:{port}\n", `p.yaml:1:6: url: {port} stands for the port of a command, and there is none (give the port, or a command)`},
		{"{port} in the wrong place", "command: {run: [x]}\nurl: http://x/{port}\n", `p.yaml:2:6: url: {port} is not where the port belongs (write it like http://127.0.0.1:{port}/base)`},

		{"nothing to run", "command:\n  dir: x\n", "p.yaml:2:3: command.run: no program to run (write it like run: [./server, --port, \"{port}\"])"},
		{"two ways to be ready", "command: {run: [x], ready: {path: /h, log: x}}\n", `p.yaml:1:28: command.ready: both path and log (choose one)`},
		{"a relative ready path", "command: {run: [x], ready: {path: h}}\n", `p.yaml:1:35: command.ready.path: "h" does not start with a slash`},
		{"a bad regular expression", "command: {run: [x], ready: {log: 'a('}}\n", "p.yaml:1:34: command.ready.log: error parsing regexp: missing closing ): `a(` (Go's syntax: https://pkg.go.dev/regexp/syntax)"},
		{"a copy outside of the folder", "command: {run: [x], copy: {../a: b}}\n", `p.yaml:1:34: command.copy.../a: "../a" lies outside of {dir} (a relative path without ..)`},
		{"an unset variable in an environment", "command: {run: [x], env: {A: '${NOPE}'}}\n", `p.yaml:1:30: command.env.A: the environment variable NOPE is not set (set it, or write $${ for a ${ that is meant as it is)`},
		{"an unset variable in a header", "url: http://x\nheaders:\n  X-Key: k ${NOPE}\n", `p.yaml:3:10: headers.X-Key: the environment variable NOPE is not set (set it, or write $${ for a ${ that is meant as it is)`},
		{"an open brace", "url: http://x\nheaders: {A: '${B'}\n", `p.yaml:2:14: headers.A: "${B" is no environment variable (set it, or write $${ for a ${ that is meant as it is)`},
		{"a header's name with a blank", "url: http://x\nheaders: {a b: c}\n", `p.yaml:2:16: headers.a b: "a b" is not the name of an HTTP header`},
		{"a line break in a header", "url: http://x\nheaders: {a: \"b\\nc\"}\n", `p.yaml:2:14: headers.a: the value has a line break or a zero byte in it`},
		{"an empty hook", "url: http://x\nhooks: {restart: ''}\n", `p.yaml:2:18: hooks.restart: no command (delete the line, or write : for a command that does nothing)`},
		{"a model block that says nothing", "url: http://x\nmodel: {}\n", `p.yaml:2:8: model: says nothing (give env, hook or both)`},
		{"an environment for a running process", "url: http://x\nmodel: {env: {A: b}}\n", `p.yaml:2:14: model.env: a target that runs already has its environment (give a command, or model.hook)`},
		{"a tool without a name", "url: http://x\ntools: {confirm: {arguments: {}}}\n", `p.yaml:2:18: tools.confirm: has no name`},
		{"an agent's id in capitals", "url: http://x\nagents: {custom: [{id: A}]}\n", `p.yaml:2:24: agents.custom[0].id: "A" is no agent id (a-z, 0-9, _ and -)`},
		{"tools of no agent", "url: http://x\nagents: {tools: {General: []}}\n", `p.yaml:2:27: agents.tools.General: "General" is no agent id (a-z, 0-9, _ and -)`},
		{"an agent's tool without a name", "url: http://x\nagents: {tools: {general: [a, '']}}\n", `p.yaml:2:31: agents.tools.general[1]: has no name`},
		{"an agent's tool twice", "url: http://x\nagents: {tools: {general: [a, a]}}\n", `p.yaml:2:31: agents.tools.general[1]: the tool "a" is given twice`},
		{"a tool that another list leaves out", "url: http://x\nagents: {custom: [{id: a, tools: [b, c]}], tools: {a: [b]}}\n",
			`p.yaml:2:38: agents.custom[0].tools[1]: the tool "c" is not among agents.tools.a (that list has every tool of the agent: add it there, or take it out here)`},
		{"an agent twice", "url: http://x\nagents: {custom: [{id: a}, {id: a}]}\n", `p.yaml:2:33: agents.custom[1].id: the agent "a" is given twice`},

		{"an unknown correlation", "url: http://x\nagent-select: {correlation: double}\n", `p.yaml:2:29: agent-select.correlation: unknown correlation "double" (write single, {body: connectionId} or {header: X-Connection-Id})`},
		{"an endpoint that cannot tell", "url: http://x\nagent-select: {correlation: {body: a, load: single}}\n", `p.yaml:2:29: agent-select.correlation: load is neither single nor told apart any further (write load: {body: connectionId} or {header: X-Connection-Id})`},
		{"a header of an endpoint", "url: http://x\nagent-select: {correlation: {body: a, create: {header: 'a b'}}}\n", `p.yaml:2:56: agent-select.correlation.create.header: "a b" is not the name of an HTTP header`},
		{"two correlations", "url: http://x\nagent-select: {correlation: {body: a, header: b}}\n", `p.yaml:2:29: agent-select.correlation: expected exactly one of body and header (write single, {body: connectionId} or {header: X-Connection-Id})`},
		{"dots for slashes", "url: http://x\nagent-select: {envelope: {data: a.b}}\n", `p.yaml:2:33: agent-select.envelope.data: "a.b" is neither a name nor a JSON Pointer (write a name like agentId, or a pointer like /data/agentId)`},
		{"a bad escape", "url: http://x\nagent-select: {envelope: {data: /a~2}}\n", `p.yaml:2:33: agent-select.envelope.data: "/a~2" is no JSON Pointer: ~ must be written ~0, and / within a name ~1 (write a name like agentId, or a pointer like /data/agentId)`},
		{"no place for the type", "url: http://x\nagent-select: {envelope: {type: ''}}\n", `p.yaml:2:33: agent-select.envelope.type: the whole event cannot be its type (write a pointer, or sse-event)`},
		{"no place for a request's field", "url: http://x\nagent-select: {fields: {request: {content: ''}}}\n", `p.yaml:2:44: agent-select.fields.request.content: the whole request cannot be one field (write a name or a pointer)`},
		{"a relative endpoint", "url: http://x\nagent-select: {sse: {stream: events}}\n", `p.yaml:2:30: agent-select.sse.stream: "events" does not start with a slash`},
		{"a method with a blank", "url: http://x\nagent-select: {sse: {stream: {method: G T}}}\n", `p.yaml:2:30: agent-select.sse.stream: "G T" is no HTTP method`},
		{"deleting no session", "url: http://x\nagent-select: {sse: {delete: /gone}}\n", `p.yaml:2:30: agent-select.sse.delete: the path does not say which session (write {id} where its id belongs)`},
		{"an id where none is", "url: http://x\nagent-select: {sse: {create: '/s/{id}'}}\n", `p.yaml:2:30: agent-select.sse.create: {id} stands for a session, and this endpoint has none (only load and delete have)`},
		{"an unknown event", "url: http://x\nagent-select: {events: {agentlist: x}}\n", `p.yaml:2:36: agent-select.events.agentlist: unknown event "agentlist" (did you mean "agent_list"?)`},
		{"two events of one name", "url: http://x\nagent-select: {events: {complete: message}}\n", `p.yaml:2:35: agent-select.events.complete: "message" is already what "message" is called (rename that one too)`},
		{"an event of no name", "url: http://x\nagent-select: {events: {complete: ''}}\n", `p.yaml:2:35: agent-select.events.complete: renamed to nothing`},
	} {
		t.Run(tt.reason, func(t *testing.T) { profiletest.Mistaken(t, kinds, tt.yaml, tt.want) })
	}
}

// mistaken checks that a profile has one mistake.
func TestParse(t *testing.T) {
	type change = func(*target.Profile)
	command := func(f func(*target.Command)) change {
		return func(p *target.Profile) {
			p.URL = "http://127.0.0.1:{port}"
			p.Command = &target.Command{Run: []string{"x"}, Ready: target.Ready{Within: target.Duration{Duration: 30 * time.Second}}, Stop: target.Duration{Duration: 2 * time.Second}}
			f(p.Command)
		}
	}
	wire := func(f func(*selectwire.Binding)) change {
		return func(p *target.Profile) { p.URL = "http://x"; f(selectwire.Of(p)) }
	}
	for _, tt := range []struct {
		reason, yaml string
		want         change
	}{
		{"a URL is enough", "url: http://x:80/", func(p *target.Profile) { p.URL = "http://x:80" }},
		{"a path is kept", "url: https://x/base/", func(p *target.Profile) { p.URL = "https://x/base" }},
		{"a byte order mark is no key", "\ufeffurl: http://x", func(p *target.Profile) { p.URL = "http://x" }},
		{"a command is enough", "command: {run: [x]}", command(func(*target.Command) {})},
		{"a part of a block keeps the other defaults", "command: {run: [x], ready: {log: up}, stop: 1s}",
			command(func(c *target.Command) { c.Ready.Log, c.Stop = "up", target.Duration{Duration: time.Second} })},
		{"a whole second in minutes", "url: http://x\nlimits: {turn: 1m30s, max-event: 64KiB}", func(p *target.Profile) {
			p.URL, p.Limits.Turn, p.Limits.MaxEvent = "http://x", target.Duration{Duration: 90 * time.Second}, 64<<10
		}},
		{"a bare size is bytes", "url: http://x\nlimits: {max-event: 100}",
			func(p *target.Profile) { p.URL, p.Limits.MaxEvent = "http://x", 100 }},
		{"variables are expanded, and are secrets", "url: http://x\nheaders: {A: 'Bearer ${TOKEN}${EMPTY}', B: '$${TOKEN} $1'}",
			func(p *target.Profile) {
				p.URL, p.Secrets = "http://x", []string{"s3cret"}
				p.Headers = map[string]string{"A": "Bearer s3cret", "B": "${TOKEN} $1"}
			}},
		{"JSON values keep their types", "url: http://x\ntools: {ask: {name: a, arguments: {i: 1, n: -1, f: 1.5, b: true, z: null, s: x, l: [1, {k: v}]}, response: null}}",
			func(p *target.Profile) {
				p.URL = "http://x"
				p.Tools.Ask = &target.Tool{Name: "a", Arguments: map[string]any{
					"i": uint64(1), "n": int64(-1), "f": 1.5, "b": true, "z": nil, "s": "x",
					"l": []any{uint64(1), map[string]any{"k": "v"}},
				}}
			}},
		{"a block of text", "url: http://x\nhooks:\n  add-agent: |\n    a\n    b\n",
			func(p *target.Profile) { p.URL, p.Hooks.AddAgent = "http://x", "a\nb\n" }},
		{"correlation single", "url: http://x\nagent-select: {correlation: single}",
			wire(func(a *selectwire.Binding) { a.Correlation = selectwire.Correlation{Single: true} })},
		{"correlation by header", "url: http://x\nagent-select: {correlation: {header: X-Conn}}",
			wire(func(a *selectwire.Binding) { a.Correlation = selectwire.Correlation{Header: "X-Conn"} })},
		{"correlation by endpoint", "url: http://x\nagent-select: {correlation: {header: X-Conn, create: {body: connectionId}, load: {header: X-Load}}}",
			wire(func(a *selectwire.Binding) {
				a.Correlation = selectwire.Correlation{Header: "X-Conn", Create: &selectwire.Correlation{Body: "/connectionId"}, Load: &selectwire.Correlation{Header: "X-Load"}}
			})},
		{"correlation by a nested field", "url: http://x\nagent-select: {correlation: {body: /meta/conn}}",
			wire(func(a *selectwire.Binding) { a.Correlation = selectwire.Correlation{Body: "/meta/conn"} })},
		{"sse-event leaves the data bare", "url: http://x\nagent-select: {envelope: {type: sse-event}}",
			wire(func(a *selectwire.Binding) { a.Envelope.SSEEvent, a.Envelope.Type, a.Envelope.Data = true, "", "" })},
		{"sse-event with data", "url: http://x\nagent-select: {envelope: {type: sse-event, data: payload}}",
			wire(func(a *selectwire.Binding) {
				a.Envelope.SSEEvent, a.Envelope.Type, a.Envelope.Data = true, "", "/payload"
			})},
		{"the data may be the whole event", "url: http://x\nagent-select: {envelope: {data: ''}}",
			wire(func(a *selectwire.Binding) { a.Envelope.Data = "" })},
		{"an endpoint's path keeps its method", "url: http://x\nagent-select: {sse: {delete: '/s/{id}', create: {method: PUT}}}",
			wire(func(a *selectwire.Binding) { a.SSE.Delete.Path, a.SSE.Create.Method = "/s/{id}", "PUT" })},
		{"two events may swap names", "url: http://x\nagent-select: {events: {message: complete, complete: message}}",
			wire(func(a *selectwire.Binding) {
				a.Events = map[string]string{"message": "complete", "complete": "message"}
			})},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			want := kinds.New("agent-select")
			want.Name = "profile"
			tt.want(want)
			if diff := profiletest.Diff(want, profiletest.Parse(t, kinds, tt.yaml)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(path, []byte("url: http://x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := kinds.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "mine" || p.Path != path || p.Dir != dir {
		t.Errorf("name %q, path %q, folder %q", p.Name, p.Path, p.Dir)
	}
	_, err = kinds.Load(filepath.Join(dir, "none.yaml"))
	var at *target.ProfileError
	if !errors.As(err, &at) || !strings.HasSuffix(err.Error(), "none.yaml: cannot be read: no such file or directory") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestForURL(t *testing.T) {
	p, err := kinds.ForURL("agent-select", "https://example.org:8443/base/")
	if err != nil {
		t.Fatal(err)
	}
	if p.URL != "https://example.org:8443/base" || p.Name != "example.org:8443" {
		t.Errorf("url %q, name %q", p.URL, p.Name)
	}
	for _, bad := range []string{"", "x", "ftp://x", "http://", "http://x:{port}", "ws://x", "http://x#f"} {
		_, err := kinds.ForURL("agent-select", bad)
		var at *target.ProfileError
		if !errors.As(err, &at) || at.Line != 0 {
			t.Errorf("%q: got %v, want a *target.ProfileError without a place", bad, err)
		}
	}
}

// disabled is a key that the example shows without giving it.
var disabled = regexp.MustCompile(`(?m)^(\s*)#(\S)`)

// TestExamples: each parses to the defaults, and with what it shows as comments has every key that is of use for its
// protocol.
func TestExamples(t *testing.T) {
	for _, tt := range []struct {
		protocol string
		without  []string // keys, with all below them
	}{
		{"agent-select", []string{"role", "hooks.user-says", "agent-client", "session-chat", "external-agent", "session-runtime"}},
		{"agent-client", []string{
			"role", "session-chat", "external-agent", "session-runtime", "agents", "model", "tools", "provoke", "headers", "hooks",
			"limits.http", "limits.reload", "limits.turn", "limits.hook", "agent-select.ws",
		}},
		{"session-chat", []string{
			"role", "hooks.user-says", "agent-client", "agent-select", "external-agent", "session-runtime", "agents", "tools", "provoke.pending_confirmation", "provoke.pending_question",
			"hooks.add-agent", "hooks.change-agent", "hooks.remove-agent", "hooks.config-digest",
			"limits.http", "limits.reload",
		}},
		{"external-agent", []string{
			"agent-client", "agent-select", "session-chat", "session-runtime", "agents", "model", "tools", "provoke",
			"hooks.add-agent", "hooks.change-agent", "hooks.remove-agent", "hooks.config-digest",
			"limits.http", "limits.reload", "limits.turn",
		}},
		{"session-runtime", []string{
			"role", "agent-client", "agent-select", "session-chat", "external-agent", "agents", "model", "tools", "provoke",
			"hooks.add-agent", "hooks.change-agent", "hooks.remove-agent", "hooks.config-digest", "hooks.user-says",
			"limits.http", "limits.reload", "limits.turn",
		}},
	} {
		t.Run(tt.protocol, func(t *testing.T) {
			text := kinds.Example(tt.protocol)
			got, err := kinds.Parse([]byte(text), "example.yaml", nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := kinds.ForURL(tt.protocol, "http://localhost:3000")
			if err != nil {
				t.Fatal(err)
			}
			want.Name = "example"
			if diff := profiletest.Diff(want, got); diff != "" {
				t.Errorf("the example is not at the defaults (-want +got):\n%s", diff)
			}

			full := disabled.ReplaceAllString(text, "$1$2")
			whole, err := kinds.Parse([]byte(full), "example.yaml", nil)
			if err != nil {
				t.Fatalf("with every key: %v", err)
			}
			if whole.Command.Ready.Within.Duration != 30*time.Second || whole.Command.Stop.Duration != 2*time.Second {
				t.Errorf("the command is not at the defaults: %+v", whole.Command)
			}
			has := given(t, full)
			has["command.ready.log"] = strings.Contains(full, "\n    # log: ") // beside path it would be a mistake
			if strings.Contains(full, "\n  # folder: ") {
				has["agent-client.folder"] = true // beside url it would be one too
			}
			kind, _ := kinds.Find(tt.protocol)
			all := keys(reflect.TypeFor[target.Profile](), "")
			for _, s := range kind.Sections() {
				all = append(append(all, s.Key), keys(reflect.TypeOf(s.Value), s.Key)...)
			}
			for _, key := range all {
				below := func(w string) bool { return strings.HasPrefix(key+".", w+".") }
				if has[key] == slices.ContainsFunc(tt.without, below) {
					t.Errorf("the example has %s: %v", key, has[key])
				}
			}
		})
	}
	if kinds.Example("none") != "" {
		t.Error("there is an example of what is not known")
	}
}

// given lists the keys that a profile has a value for, such as limits.open and agents.custom[0].id.
func given(t *testing.T, text string) map[string]bool {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	var walk func(v any, path string)
	walk = func(v any, path string) {
		has[path] = true
		switch v := v.(type) {
		case map[string]any:
			for key, of := range v {
				walk(of, target.Within(path, key))
			}
		case []any:
			for i, of := range v {
				walk(of, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	walk(doc, "")
	return has
}

// keys lists every key below a type, those of a list's items for its first one.
func keys(typ reflect.Type, path string) (all []string) {
	switch typ.Kind() {
	case reflect.Pointer:
		return keys(typ.Elem(), path)
	case reflect.Slice:
		return keys(typ.Elem(), path+"[0]")
	case reflect.Struct:
		for i := range typ.NumField() {
			if key := typ.Field(i).Tag.Get("yaml"); key != "" && key != "-" {
				all = append(append(all, target.Within(path, key)), keys(typ.Field(i).Type, target.Within(path, key))...)
			}
		}
	}
	return all
}

// FuzzParse: whatever a file holds, it is a profile or one *target.ProfileError.
func FuzzParse(f *testing.F) {
	for _, protocol := range protocols.All.Names() {
		f.Add([]byte(kinds.Example(protocol)))
		f.Add([]byte(disabled.ReplaceAllString(kinds.Example(protocol), "$1$2")))
	}
	for _, s := range []string{
		"", "a: {port}", "a: !!str 5", "? [a]\n: b", "<<: *x", "a: &x [*x]", "---\n---", "url: http://x\ntools: {ask: {name: a, arguments: [",
		"- - - -", "limits: {open: 1e400}", "agent-select: {envelope: {type: [}", "%YAML 1.2\n---\na", "a: >-\n  b", "\x00", "url: .inf",
		strings.Repeat("[", 4000), strings.Repeat("{a: ", 1000), strings.Repeat("- ", 1000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := kinds.Parse(b, "p.yaml", nil)
		var at *target.ProfileError
		switch {
		case err == nil && p == nil, err != nil && p != nil:
			t.Fatalf("profile %v, error %v", p, err)
		case err != nil && !errors.As(err, &at):
			t.Fatalf("got %T %v, want a *ProfileError", err, err)
		case err != nil && (at.Line < 1 || at.Col < 1 || at.Msg == ""):
			t.Fatalf("got an error without a place or words: %+v", at)
		}
	})
}

// TestNew: the profile of a protocol is its own, and has the default driver, role and wire.
func TestNew(t *testing.T) {
	for _, tt := range []struct{ protocol, driver string }{
		{"agent-select", target.SSE}, {"agent-client", target.Browser}, {"session-chat", target.WS}, {"external-agent", target.WS},
		{"session-runtime", target.WS},
	} {
		p := kinds.New(tt.protocol)
		if p.Protocol != tt.protocol || !cmp.Equal(p.Drivers, []string{tt.driver}) {
			t.Errorf("%s: protocol %s, drivers %v", tt.protocol, p.Protocol, p.Drivers)
		}
		p.Drivers[0] = "changed"
		if got := kinds.New(tt.protocol).Drivers[0]; got != tt.driver {
			t.Errorf("%s: two profiles share their drivers: %s", tt.protocol, got)
		}
	}
	p := kinds.New("agent-select")
	q := p.Clone()
	selectwire.Of(q).WS.Path = "/elsewhere"
	if selectwire.Of(p).WS.Path == "/elsewhere" {
		t.Error("a clone shares its wire with the original")
	}
	if diff := cmp.Diff([]string{"agent-client", "agent-select", "external-agent", "session-chat", "session-runtime"}, kinds.Protocols()); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"options-model"}, kinds.Capabilities("session-chat")); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
}

// TestPrefix: the ids of a protocol's clauses begin with its prefix.
func TestPrefix(t *testing.T) {
	for _, p := range protocols.All.All {
		l, err := steps.LedgerOf(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range l.Clauses {
			if !strings.HasPrefix(row.ID, p.Kind().Prefix+"-") {
				t.Errorf("%s has the clause %s, which does not begin with %s", steps.Name(p), row.ID, p.Kind().Prefix)
			}
		}
	}
}
