package protocols_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/schematest"
)

// profileSchema returns a check of profiles by the published schema, which must be that of the types and lists.
func profileSchema(t *testing.T) func(text string) error {
	t.Helper()
	const file = "../../docs/profile.schema.json"
	made, err := json.Marshal(kinds.Schema(), json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if *update {
		if err := os.WriteFile(file, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, made) {
		t.Errorf("%s is not up to date: go test ./steps/protocols -run TestProfileSchema -update", file)
	}
	schema := schematest.Compile(t, made)
	return func(text string) error { return schema.YAML([]byte(text)) }
}

// TestProfileSchema: every profile of this tree, and every example with all its keys, is valid by the schema; profiles
// with mistakes that a schema can see are not, nor can they be read.
func TestProfileSchema(t *testing.T) {
	valid := profileSchema(t)
	files, err := filepath.Glob("../../examples/profiles/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(b)
	}
	for _, k := range kinds {
		texts[k.Protocol] = k.Example
		texts[k.Protocol+" with every key"] = disabled.ReplaceAllString(k.Example, "$1$2")
	}
	texts["shapes"] = "url: http://a\nlimits: {open: 1m30s, max-event: 64KiB}\nagent-select:\n" +
		"  sse: {stream: {path: /e, method: PUT}, message: /m}\n  envelope: {type: sse-event}\n" +
		"  correlation: {header: X, create: {body: /c}}\n  events: {error: failed}\n"
	texts["a call"] = "url: http://a\nprotocol: external-agent\nexternal-agent: {provoke: {no-active-spec: " +
		"[{booking: true}, {tool: next, params: {a: {pointer: /b}}}]}}\n"
	texts["a filter"] = "url: http://a\nprotocol: external-agent\nexternal-agent: {booking: " +
		"[{tool: next, params: {a: {pointer: '/b/*', where: {c: null}}, d: {e: 1}}}]}\n"
	for name, text := range texts {
		if err := valid(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{
		"ulr: http://a\n", "protocol: agent-selct\nurl: http://a\n", "url: 7\n", "url: http://a\ndrivers: [sse, wss]\n",
		"url: http://a\ndrivers: sse\n", "url: http://a\nrole: agent\n", "url: http://a\nlimits: {open: 3}\n",
		"url: http://a\nlimits: {open: long}\n", "url: http://a\nlimits: {max-event: 8 MB}\n",
		"url: http://a\nconcurrency: many\n",
		"url: http://a\nconcurrency: -1\n", "command: {dir: x}\n", "url: http://a\ntools: {ask: {arguments: {}}}\n",
		"url: http://a\nsession-chat: {}\n", "protocol: session-chat\nurl: http://a\nagent-select: {}\n",
		"url: http://a\nagent-select: {correlation: both}\n",
		"url: http://a\nagent-select: {correlation: {body: a, header: b}}\n",
		"url: http://a\nagent-select: {sse: {stream: events}}\n", "url: http://a\nagent-select: {events: {eror: x}}\n",
		"protocol: session-chat\nurl: http://a\nsession-chat: {types: {pnog: x}}\n",
		"protocol: session-runtime\nurl: http://a\nsession-runtime: {fence: 'no'}\n",
		"protocol: external-agent\nurl: http://a\nexternal-agent: {booking: [{params: {}}]}\n",
		"protocol: external-agent\nurl: http://a\n" +
			"external-agent: {booking: [{tool: a, params: {b: {pointer: '/*', or: 1}}}]}\n",
		"protocol: external-agent\nurl: http://a\n" +
			"external-agent: {booking: [{tool: a, params: {b: {pointer: '/*', where: {}}}}]}\n",
	} {
		if err := valid(text); err == nil {
			t.Errorf("the schema takes %q", text)
		}
		if _, err := kinds.Parse([]byte(text), "p.yaml", nil); err == nil {
			t.Errorf("it can be read: %q", text)
		}
	}
}
