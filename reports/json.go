package reports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"

	"parley/internal/jsonwhy"
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
// a value out of range, a duplicate key, trailing data, or parts that contradict each other. What is longer than
// MaxJSON is not read.
func ReadJSON(r io.Reader) (*Results, error) {
	b, err := readObject(r, MaxJSON)
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
		return nil, fmt.Errorf("read results: %s", jsonwhy.InFile(err))
	}
	if err := consistent(&res); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	res.Schema = SchemaID
	return &res, nil
}

// MaxJSON is the size of the largest results that are read.
const MaxJSON = 64 << 20

// readObject reads the text of a JSON object of at most max bytes.
func readObject(r io.Reader, max int64) ([]byte, error) {
	in := bufio.NewReader(io.LimitReader(r, max+1))
	for {
		c, err := in.ReadByte()
		switch {
		case err == nil && (c == ' ' || c == '\n' || c == '\r' || c == '\t'):
			continue
		case err == nil && c != '{':
			return nil, errors.New("it is not a JSON object (name the results.json of a run)")
		case err == nil:
			_ = in.UnreadByte()
		case !errors.Is(err, io.EOF):
			return nil, err
		}
		b, err := io.ReadAll(in)
		if int64(len(b)) > max {
			return nil, fmt.Errorf("it is longer than %d bytes", max)
		}
		return b, err
	}
}

// newerSchema matches the schema ids of all versions.
var newerSchema = regexp.MustCompile(`^(?:urn:parley:results:|https://parley\.dev/schema/results-)([0-9]+)(?:\.json)?$`)

// checkSchemaID runs first: about a file in another format, no other error is useful.
func checkSchemaID(b []byte) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("read results: %s (name the results.json of a run)", jsonwhy.InFile(err))
	}
	if n := newerSchema.FindStringSubmatch(head.Schema); n != nil {
		if version, err := strconv.Atoi(n[1]); err != nil || version > 1 {
			return fmt.Errorf("read results: schema is %q, want %q: a newer version of parley wrote it (update parley)",
				head.Schema, SchemaID)
		}
	}
	if head.Schema != SchemaID && head.Schema != FormerSchemaID {
		if head.Schema == "" {
			return errors.New("read results: it has no schema (name the results.json of a run)")
		}
		return fmt.Errorf("read results: schema is %q, want %q", head.Schema, SchemaID)
	}
	return nil
}
