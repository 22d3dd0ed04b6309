package reports

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func written(t *testing.T, r *Results) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSONGolden(t *testing.T) {
	got := written(t, sample())
	golden(t, "results.golden.json", got)
	if !utf8.Valid(got) {
		t.Error("the file is not UTF-8")
	}
	if again := written(t, sample()); !bytes.Equal(got, again) {
		t.Error("the same results were written in two ways")
	}
}

// TestJSONRoundTrip: reading returns what was written, except for bytes that JSON cannot hold.
func TestJSONRoundTrip(t *testing.T) {
	want := sample()
	got, err := ReadJSON(bytes.NewReader(written(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	want.Seal = got.Seal // made when it is written; TestSeal checks it
	valid := cmp.Transformer("validUTF8", validUTF8)
	if diff := cmp.Diff(want, got, valid, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	if again := written(t, got); !bytes.Equal(again, written(t, want)) {
		t.Error("results that were read are written differently")
	}
}

func TestJSONEmpty(t *testing.T) {
	got := string(written(t, &Results{Runs: []Run{{}}}))
	for _, want := range []string{`"clauses": []`, `"drivers": []`, `"by_level": {}`, `"by_outcome": {}`, `"schema": "` +
		SchemaID + `"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "null") {
		t.Errorf("null in:\n%s", got)
	}
}

// TestFormerID: results with the id of earlier programs are read, and written with today's.
func TestFormerID(t *testing.T) {
	former := strings.Replace(string(written(t, sample())), SchemaID, FormerSchemaID, 1)
	res, err := ReadJSON(strings.NewReader(former))
	if err != nil || res.Schema != SchemaID || !strings.Contains(former, FormerSchemaID) {
		t.Errorf("%v, %v", res, err)
	}
}

func TestReadJSONIsStrict(t *testing.T) {
	good := string(written(t, sample()))
	if _, err := ReadJSON(strings.NewReader("\ufeff" + good)); err != nil {
		t.Errorf("with the mark that editors write in front: %v", err)
	}
	for _, tt := range []struct{ reason, old, new, want string }{
		{"another version", "results:1", "results:2", `schema is "urn:parley:results:2", want`},
		{"no schema id", `"schema": "` + SchemaID + `",`, ``, "it has no schema"},
		{"a key in another case", `"seed": 42`, `"Seed": 42`, "seed"},
		{"an unknown key", `"seed": 42`, `"seed": 42, "speed": 1`, "speed"},
		{"a key twice", `"seed": 42`, `"seed": 42, "seed": 43`, "seed is there twice"},
		{"something after the end", "\n}\n", "\n}\n{}", "read results"},
		{"half a file", "\n}\n", "\n", "read results"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			_, err := ReadJSON(strings.NewReader(bad))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want one line with %s", err, tt.want)
			}
		})
	}
}
