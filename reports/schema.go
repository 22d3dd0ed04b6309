package reports

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed results.schema.json
var resultsSchema []byte

// Schema returns the JSON Schema (draft 2020-12) of results.json; its $id is SchemaID. The caller owns the copy.
func Schema() []byte { return slices.Clone(resultsSchema) }

// Validate checks that b is a results.json: well-formed, and with exactly the keys and values that Schema allows. The
// error is one line that names the first difference.
func Validate(b []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("results are not JSON: %w", err)
	}
	var invalid *jsonschema.ValidationError
	switch err := compiledSchema().Validate(v); {
	case errors.As(err, &invalid):
		return fmt.Errorf("results break their schema %s", firstCause(invalid))
	default:
		return err
	}
}

// compiledSchema compiles the schema once. An error in it is a bug of ours.
var compiledSchema = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(resultsSchema))
	if err != nil {
		panic(fmt.Sprintf("results.schema.json: %v", err))
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(SchemaID, doc); err != nil {
		panic(fmt.Sprintf("results.schema.json: %v", err))
	}
	return c.MustCompile(SchemaID)
})

// firstCause reports the first leaf of a validation error on one line: at /runs/0/verdict: ….
func firstCause(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		if _, ok := e.ErrorKind.(*kind.PropertyNames); ok {
			break // the causes below have lost their location
		}
		e = e.Causes[0]
	}
	where := "/" + strings.Join(e.InstanceLocation, "/")
	return fmt.Sprintf("at %s: %s", where, oneLine(e.ErrorKind.LocalizedString(message.NewPrinter(language.English))))
}
