package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps/protocols"
)

// document is the OpenAPI document, and the compiler of its schemas.
var document = sync.OnceValue(func() any {
	text, err := yaml.YAMLToJSON(openAPI)
	if err != nil {
		panic(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	return doc
})

// member walks through objects of the document, following references to responses.
func member(v any, names ...string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		if v = object[name]; v == nil {
			return nil
		}
		object, _ = v.(map[string]any)
		if refers, is := object["$ref"].(string); is && strings.HasPrefix(refers, "#/components/responses/") {
			v = member(document(), strings.Split(strings.TrimPrefix(refers, "#/"), "/")...)
		}
	}
	return v
}

// valid checks a JSON text against a schema of the document.
func valid(schema any, text []byte) error {
	c := jsonschema.NewCompiler()
	root := map[string]any{"$defs": map[string]any{"it": schema}, "components": member(document(), "components")}
	if err := c.AddResource("it.json", root); err != nil {
		return err
	}
	compiled, err := c.Compile("it.json#/$defs/it")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return compiled.Validate(v)
}

// client calls a console, and checks all requests and answers against the document.
type client struct {
	t    *testing.T
	url  string
	http *http.Client
}

// serve serves a console with the bundled targets.
func serve(t *testing.T, change ...func(*Options)) (*client, *Console) {
	t.Helper()
	o := Options{Open: func(ctx context.Context, o TestOptions) (*simulator.Session, error) {
		b := bundled.All.For(protocols.Kinds(), o.Protocol, o.Role)
		if b == nil {
			return nil, fmt.Errorf("--protocol: unknown protocol %q", o.Protocol)
		}
		opts := runner.Options{Protocols: protocols.All, Profile: b.Profile, Launcher: b.Launcher, Brain: b.Brain}
		if o.Driver != "" {
			opts.Drivers = []string{o.Driver}
		}
		return simulator.Open(ctx, opts)
	}}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c)
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { c.Close(); server.CloseClientConnections(); server.Close(); transport.CloseIdleConnections() })
	return &client{t, server.URL, &http.Client{Transport: transport}}, c
}

// call makes a request with a JSON body, or none if it is nil, and checks request and answer against the document.
func (c *client) call(method, path string, body any) (int, []byte) {
	c.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+prefix+path, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	c.check(req, res, text, got)
	return res.StatusCode, got
}

// check validates a request and its answer against the document.
func (c *client) check(req *http.Request, res *http.Response, sent, got []byte) {
	c.t.Helper()
	path := pattern(strings.TrimPrefix(req.URL.Path, prefix))
	operation := member(document(), "paths", path, strings.ToLower(req.Method))
	if operation == nil {
		c.t.Fatalf("%s %s is not in openapi.yaml", req.Method, req.URL.Path)
	}
	responses := member(operation, "responses")
	answer := member(responses, fmt.Sprint(res.StatusCode))
	if answer == nil {
		answer = member(responses, "default")
		if res.StatusCode < 400 || answer == nil {
			c.t.Errorf("%s %s answers %d, which openapi.yaml does not have: %s", req.Method, req.URL.Path, res.StatusCode, got)
			return
		}
	}
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	content := member(answer, "content")
	if (content != nil || media != "") && member(content, media) == nil {
		c.t.Errorf("%s %s answers with %q, which openapi.yaml does not have", req.Method, req.URL.Path, media)
	}
	if media == "application/json" {
		if err := valid(member(content, media, "schema"), got); err != nil {
			c.t.Errorf("%s %s: the answer is not as openapi.yaml says: %v\n%s", req.Method, req.URL.Path, err, got)
		}
	}
	if len(sent) > 0 && res.StatusCode < 300 {
		schema := member(operation, "requestBody", "content", "application/json", "schema")
		if err := valid(schema, sent); err != nil {
			c.t.Errorf("%s %s: the request is not as openapi.yaml says: %v\n%s", req.Method, req.URL.Path, err, sent)
		}
	}
}

// pattern is the path of a route.
func pattern(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) > 2 && parts[1] == "sessions" {
		parts[2] = "{id}"
	}
	if len(parts) > 4 && (parts[3] == "held" || parts[3] == "steps") {
		parts[4] = "{n}"
	}
	return strings.Join(parts, "/")
}

// do makes a request that must have a status, and decodes the answer into a T.
func do[T any](c *client, want int, method, path string, body any) (out T) {
	c.t.Helper()
	status, got := c.call(method, path, body)
	if status != want {
		c.t.Fatalf("%s %s: %d %s, want %d", method, path, status, got, want)
	}
	if _, raw := any(out).(string); raw {
		return any(string(got)).(T)
	}
	if len(got) > 0 {
		if err := json.Unmarshal(got, &out); err != nil {
			c.t.Fatal(err)
		}
	}
	return out
}

// wantRefusal makes a request that must be refused with a text in the error.
func (c *client) wantRefusal(want int, method, path string, body any, text string) errorBody {
	c.t.Helper()
	e := do[errorBody](c, want, method, path, body)
	if !strings.Contains(e.Error, text) || strings.Contains(e.Error, "\n") {
		c.t.Errorf("%s %s: %q, want %q in it, on one line", method, path, e.Error, text)
	}
	return e
}

type m = map[string]any
