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

// TestMistakes: every mistake is one error with a place, and with a fix if one is known.
func TestMistakes(t *testing.T) {
	for _, tt := range mistakesRows {
		t.Run(tt.reason, func(t *testing.T) { profiletest.Mistaken(t, kinds, tt.yaml, tt.want) })
	}
}

// mistaken checks that a profile has one mistake.
func TestParse(t *testing.T) {
	type change = func(*target.Profile)
	command := func(f func(*target.Command)) change {
		return func(p *target.Profile) {
			p.URL = "http://127.0.0.1:{port}"
			p.Command = &target.Command{Run: []string{"x"},
				Ready: target.Ready{Within: target.Duration{Duration: 30 * time.Second}},
				Stop:  target.Duration{Duration: 2 * time.Second}}
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
		{"variables are expanded, and are secrets",
			"url: http://x\nheaders: {A: 'Bearer ${TOKEN}${EMPTY}', B: '$${TOKEN} $1'}",
			func(p *target.Profile) {
				p.URL, p.Secrets = "http://x", []string{"s3cret"}
				p.Headers = map[string]string{"A": "Bearer s3cret", "B": "${TOKEN} $1"}
			}},
		{"JSON values keep their types",
			"url: http://x\ntools: {ask: {name: a, arguments: {i: 1, n: -1, f: 1.5, b: true, z: null, s: x, l: [1, {k: " +
				"v}]}, response: null}}",
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
		{"correlation by endpoint", "url: http://x\nagent-select: {correlation: {header: X-Conn, create: {body: " +
			"connectionId}, load: {header: X-Load}}}",
			wire(func(a *selectwire.Binding) {
				a.Correlation = selectwire.Correlation{Header: "X-Conn", Create: &selectwire.Correlation{Body: "/connectionId"},
					Load: &selectwire.Correlation{Header: "X-Load"}}
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
		{"an endpoint's path keeps its method",
			"url: http://x\nagent-select: {sse: {delete: '/s/{id}', create: {method: PUT}}}",
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

// disabled is a key that the example has only as a comment.
var disabled = regexp.MustCompile(`(?m)^(\s*)#(\S)`)

var examplesRows = []struct {
	protocol string
	without  []string // keys, with all keys below them
}{
	{"agent-select", []string{"role", "hooks.user-says", "hooks.call", "agent-client", "session-chat", "external-agent",
		"session-runtime"}},
	{"agent-client", []string{
		"role", "session-chat", "external-agent", "session-runtime", "agents", "model", "tools", "provoke",
		"hooks",
		"limits.http", "limits.reload", "limits.turn", "limits.hook", "agent-select.ws", "tls.cert", "tls.key",
		"tls.server_name",
	}},
	{"session-chat", []string{
		"role", "hooks.user-says", "hooks.call", "agent-client", "agent-select", "external-agent",
		"session-runtime", "agents", "tools",
		"provoke.pending_confirmation", "provoke.pending_question",
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
		"hooks.call", "limits.http", "limits.reload", "limits.turn",
	}},
}

// TestExamples: each example parses to the defaults and, together with its commented keys, has every key that its
// protocol uses.
func TestExamples(t *testing.T) {
	for _, tt := range examplesRows {
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
			valid := full
			if tt.protocol == "external-agent" { // beside external-agent.page it would be a mistake
				valid = strings.Replace(full, "\n  user-says: ", "\n  # user-says: ", 1)
				valid = strings.Replace(valid, "\n  call: ", "\n  # call: ", 1) // the role is host
			}
			whole, err := kinds.Parse([]byte(valid), "example.yaml", nil)
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
			for _, key := range []string{"tls", "tls.ca", "tls.cert", "tls.key", "tls.server_name", "tls.insecure"} {
				// needs an https URL, and files
				line := "\n# " + key + ":"
				if _, name, below := strings.Cut(key, "."); below {
					line = "\n  # " + name + ":"
				}
				has[key] = strings.Contains(full, line)
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

// keys lists every key below a type; for the items of a list, those of the first one.
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

// FuzzParse: any file is a profile or causes one *target.ProfileError.
func FuzzParse(f *testing.F) {
	for _, protocol := range protocols.All.Names() {
		f.Add([]byte(kinds.Example(protocol)))
		f.Add([]byte(disabled.ReplaceAllString(kinds.Example(protocol), "$1$2")))
	}
	for _, s := range []string{
		"", "a: {port}", "a: !!str 5", "? [a]\n: b", "<<: *x", "a: &x [*x]", "---\n---",
		"url: http://x\ntools: {ask: {name: a, arguments: [",
		"- - - -", "limits: {open: 1e400}", "agent-select: {envelope: {type: [}", "%YAML 1.2\n---\na", "a: >-\n  b", "\x00",
		"url: .inf",
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

// TestNew: each call returns a separate profile, with the default driver, role and wire.
func TestNew(t *testing.T) {
	for _, tt := range []struct{ protocol, driver string }{
		{"agent-select", target.SSE}, {"agent-client", target.Browser}, {"session-chat", target.WS},
		{"external-agent", target.WS},
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
	if diff := cmp.Diff([]string{"agent-client", "agent-select", "external-agent", "session-chat", "session-runtime"},
		kinds.Protocols()); diff != "" {
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
