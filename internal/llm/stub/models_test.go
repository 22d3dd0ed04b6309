package stub

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

func get[T any](t *testing.T, c *http.Client, url string) T {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return decode[T](string(readAll(t, res)))
}

func TestModels(t *testing.T) {
	s, _, c := start(t)
	want := object{
		"object": "list", "has_more": false, "first_id": "parley-stub", "last_id": "parley-stub-2",
		"data": []any{modelObject("parley-stub"), modelObject("parley-stub-2")},
	}
	for _, path := range []string{"/v1/models", "/models"} {
		if diff := cmp.Diff(want, get[object](t, c, s.URL()+path)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", path, diff)
		}
	}
	for _, id := range []string{ModelID, "any", "vendor/any"} {
		if diff := cmp.Diff(modelObject(id), get[object](t, c, s.URL()+"/v1/models/"+id)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", id, diff)
		}
	}
}

func modelObject(id string) object {
	return object{
		"id": id, "object": "model", "created": 1767225600.0, "owned_by": "parley",
		"type": "model", "display_name": id, "created_at": "2026-01-01T00:00:00Z",
	}
}

func TestCountTokens(t *testing.T) {
	s, b, c := start(t)
	body := messagesDialect.encode(llm.Request{Model: "m", System: "12345678",
		Messages: []llm.Message{user("[[echo n]]")}})
	res := post(t, t.Context(), c, s.URL()+"/v1/messages/count_tokens", body)
	if got := string(readAll(t, res)); got != `{"input_tokens":6}` {
		t.Errorf("count %s; want 6: 2 for the system prompt, 1 and 3 for the message", got)
	}
	if b.Requests("n") != nil {
		t.Error("token counting is recorded")
	}
}
