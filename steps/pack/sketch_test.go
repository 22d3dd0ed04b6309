package pack

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"parley/internal/schematest"
	"parley/steps/obligation"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// drafted loads the folder that a sketch makes.
func drafted(t *testing.T, s *Sketch) (*Pack, map[string][]byte) {
	t.Helper()
	files, err := DraftFrom("drafted-one", s)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for name, b := range files {
		fsys[name] = &fstest.MapFile{Data: b}
	}
	p, err := LoadFS(fsys, "drafted")
	if err != nil {
		t.Fatalf("%v\n%s", err, files["protocol.yaml"])
	}
	return p, files
}

// TestDrafts: AsyncAPI documents and recordings become folders that load, have each message, and are valid by the
// published schemas; their own AsyncAPI document tells the same again.
func TestDrafts(t *testing.T) {
	sources, _ := filepath.Glob("../../docs/asyncapi/*.yaml")
	recordings, _ := filepath.Glob("../../simulator/mock/testdata/*.jsonl")
	if len(sources) < 5 || len(recordings) < 2 {
		t.Fatalf("%q %q", sources, recordings)
	}
	for _, at := range append(sources, recordings...) {
		s := sketched(t, at)
		p, files := drafted(t, s)
		for name, schema := range map[string][]byte{"protocol.yaml": ProtocolSchema(), "clauses.yaml": ClausesSchema()} {
			if err := schematest.Compile(t, schema).YAML(files[name]); err != nil {
				t.Errorf("%s: %s: %v", at, name, err)
			}
		}
		again, err := FromAsyncAPI("again.json", p.AsyncAPI("localhost:3000"))
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		for _, of := range [][2][]SketchedMessage{{s.Sends, again.Sends}, {s.Receives, again.Receives}} {
			if diff := cmp.Diff(typesOf(of[0]), typesOf(of[1])); diff != "" {
				t.Errorf("%s: %s", at, diff)
			}
		}
		if s.WS != again.WS || s.SSE != again.SSE {
			t.Errorf("%s: %q %q, again %q %q", at, s.WS, s.SSE, again.WS, again.SSE)
		}
		second, files2 := drafted(t, again)
		if !slices.Equal(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(files2))) {
			t.Errorf("%s: %q, again %q", at, slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(files2)))
		}
		if string(p.AsyncAPI("a:1")) != string(second.AsyncAPI("a:1")) {
			t.Errorf("%s: its document changes on the way", at)
		}
	}
}

func typesOf(all []SketchedMessage) (types []string) {
	for _, m := range all {
		types = append(types, m.Type)
	}
	return slices.Sorted(slices.Values(types))
}

func sketched(t *testing.T, at string) *Sketch {
	t.Helper()
	if filepath.Ext(at) == ".yaml" {
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		s, err := FromAsyncAPI(filepath.Base(at), text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := recording.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := FromRecords(filepath.Base(at), in.Next)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestExported: what a folder exports as AsyncAPI becomes a folder that loads, also with holes in addresses and over
// requests alone.
func TestExported(t *testing.T) {
	for name, want := range map[string]string{"ticket-desk": "  - {on: welcome, client: it?.client}",
		"mcp": "post: {path: /mcp}", "ag-ui": "post: {path: ", "session-chat": "ws: {path: "} {
		p, err := Load("../../examples/packs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := FromAsyncAPI("a.json", p.AsyncAPI("localhost:3000"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, files := drafted(t, s)
		waits := strings.Contains(string(files["1_first.feature"]), "client A receives \"welcome\"")
		if !strings.Contains(string(files["protocol.yaml"]), want) || waits != (name == "ticket-desk") {
			t.Errorf("%s: no %s in\n%s", name, want, files["protocol.yaml"])
		}
	}
}

// TestNoSketch: what tells no protocol is refused with what it lacks.
func TestNoSketch(t *testing.T) {
	const ws = "asyncapi: 3.0.0\nchannels: {c: {address: /c, bindings: {ws: {}}}}\noperations: {o: {action: send, " +
		"channel: {$ref: '#/channels/c'}"
	many := ""
	for i := range 30 {
		many += fmt.Sprintf("p%d: {$ref: '#/m/payload'}, ", i)
	}
	for text, want := range map[string]string{
		ws + ", messages: [{$ref: '#/m'}]}}\nm: {name: m, payload: {type: object, " +
			"properties: {" + many + "}}}": "more than 50000",
		"asyncapi: 2.6.0":        "of version 3",
		"[]":                     "it is not a map",
		"asyncapi: 3.0.0":        "no channel is a WebSocket",
		"asyncapi: 3.0.0\na: *b": "a.yaml",
		ws + "}}":                "no messages",
		"asyncapi: 3.0.0\nchannels: {c: {$ref: '#/channels/c'}}\noperations: {o: {action: send, " +
			"channel: {$ref: '#/channels/c'}}}": "no channel is a WebSocket",
	} {
		if _, err := FromAsyncAPI("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	none := func() (transcript.Record, error) { return transcript.Record{}, io.EOF }
	if _, err := FromRecords("a.jsonl", none); err == nil || !strings.Contains(err.Error(), "no WebSocket") {
		t.Error(err)
	}
}

// TestDescribed: a folder may have an AsyncAPI document in place of transports, messages and JSON Schemas; what it says
// itself stays.
func TestDescribed(t *testing.T) {
	const rules = "protocol: chat-x\nprefix: PP\n%srules:\n  - {on: pong, valid: true, clauses: PP-001}\n"
	async, err := os.ReadFile("../../docs/asyncapi/session-chat.yaml")
	if err != nil {
		t.Fatal(err)
	}
	load := func(own string, more fstest.MapFS) (*Pack, error) {
		files := fstest.MapFS{"protocol.yaml": {Data: fmt.Appendf(nil, rules, own)}, "asyncapi.yaml": {Data: async},
			"clauses.yaml": {Data: []byte(strings.Replace(ledger, "ping-pong", "chat-x", 1))}}
		maps.Copy(files, more)
		return LoadFS(files, "cx")
	}
	p, err := load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := p.doc
	if got := fmt.Sprint(d.drivers, d.ws, d.typeAt, d.sentAt, sorted(d.sends), len(d.receives)); got !=
		"[ws]/chat/ws/message_type/type[chat interrupt ping] 6" {
		t.Error(got)
	}
	found := obligation.Judge(newModel(p.doc, obligation.Ours), said(t, p, `A< {"message_type":"pong"}`,
		`A< {"message_type":"pong","timestamp":[]}`))
	if len(found) == 0 || !found[0].OK {
		t.Errorf("%+v", found)
	}
	p, err = load("transports: {ws: {path: /own}}\nsends: {chat: {content: hi}}\n", fstest.MapFS{
		"messages/pong.json": {Data: []byte(`{"type":"object","required":["n"]}`)}})
	if err != nil {
		t.Fatal(err)
	}
	if p.doc.ws != "/own" || fmt.Sprint(p.doc.sends["chat"]) != "map[content:hi]" {
		t.Errorf("%q %v", p.doc.ws, p.doc.sends)
	}
	found = obligation.Judge(newModel(p.doc, obligation.Ours), said(t, p, `A< {"message_type":"pong"}`))
	if len(found) != 1 || found[0].OK {
		t.Errorf("%+v", found)
	}
	if _, err := load("", fstest.MapFS{"asyncapi.yaml": {Data: []byte("asyncapi: 2.0.0")}}); err == nil ||
		!strings.Contains(err.Error(), "cx/asyncapi.yaml: it is no AsyncAPI document of version 3") {
		t.Error(err)
	}
}

// FuzzFromAsyncAPI: no document makes the sketch, or the folder that it makes, panic.
func FuzzFromAsyncAPI(f *testing.F) {
	for _, name := range []string{"session-chat", "agent-select"} {
		text, err := os.ReadFile("../../docs/asyncapi/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := FromAsyncAPI("a.yaml", text)
		if (s == nil) != (err != nil) {
			t.Errorf("%v, %v", s, err)
		}
		if s == nil {
			return
		}
		files, err := DraftFrom("drafted-one", s)
		if err != nil {
			return
		}
		fsys := fstest.MapFS{}
		for name, b := range files {
			fsys[name] = &fstest.MapFile{Data: b}
		}
		if p, err := LoadFS(fsys, "drafted"); err == nil {
			p.AsyncAPI("localhost:1")
		}
	})
}
