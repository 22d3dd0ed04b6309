package messages_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/protocol/messages"
	"parley/steps/protocols"
)

var update = flag.Bool("update", false, "write the documents in docs/asyncapi")

// official is the schema of AsyncAPI 3.0.0 documents.
func official(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open(filepath.FromSlash("testdata/asyncapi/3.0.0.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("http://asyncapi.com/definitions/3.0.0/asyncapi.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("http://asyncapi.com/definitions/3.0.0/asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAsyncAPI: the document of each protocol is one by the schema of AsyncAPI, its references lead somewhere, every
// message passes in a channel and an operation, and docs/asyncapi has the same.
func TestAsyncAPI(t *testing.T) {
	schema := official(t)
	for _, protocol := range protocols.All.Names() {
		t.Run(protocol, func(t *testing.T) {
			text := messages.AsyncAPI(protocol, "127.0.0.1:8124", false)
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
			refs := map[string]bool{}
			refer(doc, refs)
			for ref := range refs {
				if !resolves(doc, ref) {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			components := doc.(map[string]any)["components"].(map[string]any)["messages"].(map[string]any)
			if n := len(messages.For(protocol).List()); len(components) != n {
				t.Errorf("%d messages, and %d in the document", n, len(components))
			}
			for key := range components {
				used := func(ref string) bool {
					return strings.HasSuffix(ref, "/messages/"+key) && strings.HasPrefix(ref, "#/channels/")
				}
				if !refs["#/components/messages/"+key] || !slices.ContainsFunc(slices.Collect(maps.Keys(refs)), used) {
					t.Errorf("%s passes in no channel or operation", key)
				}
			}
			committed(t, protocol, text)
		})
	}
	if messages.AsyncAPI("no-such-protocol", "h:1", false) != nil {
		t.Error("an unknown protocol has a document")
	}
}

// committed compares docs/asyncapi with a document.
func committed(t *testing.T, protocol string, text []byte) {
	t.Helper()
	file := filepath.FromSlash("../../docs/asyncapi/" + protocol + ".yaml")
	is, err := yaml.JSONToYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, is, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was, is) {
		t.Errorf("%s is out of date: go test ./protocol/messages -run TestAsyncAPI -update", file)
	}
	var back any
	if err := yaml.Unmarshal(was, &back); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal(text, &b) != nil {
		t.Fatal("not JSON")
	}
	if x, y := mustJSON(a), mustJSON(b); x != y {
		t.Errorf("%s, read again, is another document:\n%s\n%s", file, x, y)
	}
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestAsyncAPIRefuses: the schema refuses what is no AsyncAPI document, so that passing means something.
func TestAsyncAPIRefuses(t *testing.T) {
	schema := official(t)
	for what, change := range map[string]func(d map[string]any){
		"no info":           func(d map[string]any) { delete(d, "info") },
		"another version":   func(d map[string]any) { d["asyncapi"] = "2.6.0" },
		"an unknown member": func(d map[string]any) { d["chanels"] = map[string]any{} },
		"an action of none": func(d map[string]any) { inner(d, "operations", "sendChat")["action"] = "publish" },
		"no server's host":  func(d map[string]any) { delete(inner(d, "servers", "ws"), "host") },
		"an invalid type": func(d map[string]any) {
			inner(d, "components", "messages", "ping", "payload")["type"] = "thing"
		},
	} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(messages.AsyncAPI("session-chat", "127.0.0.1:8124", false)))
		if err != nil {
			t.Fatal(err)
		}
		change(doc.(map[string]any))
		if schema.Validate(doc) == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

func inner(d map[string]any, path ...string) map[string]any {
	for _, name := range path {
		d = d[name].(map[string]any)
	}
	return d
}

// refer collects the references of a document.
func refer(v any, refs map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if ref, is := v["$ref"].(string); is {
			refs[ref] = true
		}
		for _, one := range v {
			refer(one, refs)
		}
	case []any:
		for _, one := range v {
			refer(one, refs)
		}
	}
}

// resolves reports whether a reference leads to a place in the document.
func resolves(v any, ref string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o, _ := v.(map[string]any)
		if v = o[name]; v == nil {
			return false
		}
	}
	return true
}
