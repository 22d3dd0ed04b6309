package jsonwhy_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonwhy"
)

// TestOf: each reason says what to send, and none speaks of Go.
func TestOf(t *testing.T) {
	type message struct {
		ID       string         `json:"id"`
		Metadata map[string]any `json:"metadata"`
		Agents   []string       `json:"agents"`
		Limits   struct {
			Ack *float64 `json:"input_ack_ms"`
			On  bool     `json:"on"`
			N   int      `json:"n"`
		} `json:"limits"`
	}
	for text, want := range map[string]string{
		`[]`:                                    "send one JSON object, not an array",
		`"a"`:                                   "send one JSON object, not a string",
		`7`:                                     "send one JSON object, not a number",
		`{"metadata":"a"}`:                      "metadata must be an object, not a string",
		`{"id":7}`:                              "id must be a string, not a number",
		`{"agents":{}}`:                         "agents must be an array, not an object",
		`{"agents":["a",true]}`:                 "agents.1 must be a string, not a boolean",
		`{"limits":{"input_ack_ms":"10"}}`:      "limits.input_ack_ms must be a number, not a string",
		`{"limits":{"on":1}}`:                   "limits.on must be a boolean, not a number",
		`{"limits":{"n":[]}}`:                   "limits.n must be an integer, not an array",
		`{"limts":{}}`:                          "unknown member limts",
		`{"limits":{"a b":1}}`:                  `unknown member "limits.a b"`,
		`{"id":"1","id":"2"}`:                   "the member id is there twice",
		`{"id":`:                                "send one JSON object: the text ends within it",
		``:                                      "send one JSON object: the text is empty",
		`{"id" "1"}`:                            "send one JSON object: invalid character '\"' after object name",
		"{\"id\":\"\xff\"}":                     "send one JSON object: invalid UTF-8",
		`{"` + strings.Repeat("x", 99) + `":1}`: "unknown member " + strings.Repeat("x", 80) + "…",
	} {
		var into message
		err := json.Unmarshal([]byte(text), &into, json.RejectUnknownMembers(true))
		if err == nil {
			t.Errorf("%s is read", text)
			continue
		}
		if got := jsonwhy.Of(err); !strings.HasPrefix(got, want) || strings.Contains(got, "Go ") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestInFile: what is wrong with a file is told without names of Go.
func TestInFile(t *testing.T) {
	type file struct {
		Schema string `json:"schema"`
	}
	for text, want := range map[string]string{
		``:                             "it is empty",
		`{"schema":`:                   "it ends in the middle of its JSON, after byte 10",
		`[]`:                           "it is an array, and not an object",
		`{"schema":7}`:                 "schema must be a string, not a number",
		`{"other":7}`:                  "unknown member other",
		`{"schema":"","schema":""}`:    "the member schema is there twice",
		`name: x`:                      "it is not JSON: invalid character 'a' in literal null (expecting 'u') at byte 1",
		"{\"schema\":\"\"} and more\n": "it is not JSON: invalid character 'a' after top-level value at byte 14",
	} {
		err := json.Unmarshal([]byte(text), new(file), json.RejectUnknownMembers(true))
		if got := jsonwhy.InFile(err); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
