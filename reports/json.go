package reports

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"
)

// WriteJSON writes r as results.json: indented, keys in the order of the model, map keys sorted, empty lists and maps
// as [] and {}. The schema id is always SchemaID. A byte that is not UTF-8 is written as the four characters \xNN, so
// that the file stays valid and the byte visible.
func WriteJSON(w io.Writer, r *Results) error {
	c := *r
	c.Schema = SchemaID
	c.Seal = unsealed
	var b bytes.Buffer
	err := json.MarshalWrite(&b, &c, json.Deterministic(true), jsontext.WithIndent("  "),
		legacy.OmitEmptyWithLegacySemantics(true), json.WithMarshalers(json.MarshalToFunc(marshalText)))
	if err != nil {
		return fmt.Errorf("write results.json: %w", err)
	}
	b.WriteByte('\n')
	_, err = w.Write(seal(b.Bytes()))
	return err
}

// marshalText keeps bytes that are not UTF-8 visible.
func marshalText(enc *jsontext.Encoder, s string) error {
	return enc.WriteToken(jsontext.String(validUTF8(s)))
}

// ReadJSON reads a results.json and rejects anything else: another version of the schema, an unknown or missing key,
// a value out of range, a duplicate key, or trailing data.
func ReadJSON(r io.Reader) (*Results, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if err := checkSchemaID(b); err != nil {
		return nil, err
	}
	if err := Validate(b); err != nil {
		return nil, err
	}
	var res Results
	if err := json.Unmarshal(b, &res, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return &res, nil
}

var schemaVersion = regexp.MustCompile(`\Ahttps://parley\.dev/schema/results-(\d+)\.json\z`)

// newer ends the error about a schema with a hint if a newer version wrote the results.
func newer(schema string) string {
	version := func(id string) int {
		m := schemaVersion.FindStringSubmatch(id)
		if m == nil {
			return 0
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return 0
		}
		return n
	}
	if version(schema) > version(SchemaID) {
		return " (a newer version of the program wrote them: use that)"
	}
	return ""
}

// checkSchemaID runs first: about a file in another format, no other error is useful.
func checkSchemaID(b []byte) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	if head.Schema != SchemaID {
		return fmt.Errorf("read results: schema is %q, want %q%s", head.Schema, SchemaID, newer(head.Schema))
	}
	return nil
}
