package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	proto "parley/protocol/externalagent"
)

// CheckParams validates params against the schema of a tool; an invalid schema, which only a faulty host has, allows
// everything.
func CheckParams(tool proto.Tool, params map[string]any) *Refusal {
	schema, err := compile(tool.Parameters)
	if err != nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if errors.As(schema.Validate(plain(params)), &invalid) {
		return &Refusal{proto.InvalidParams, tool.Name + " " + words(invalid)}
	}
	return nil
}

func compile(schema any) (*jsonschema.Schema, error) {
	const name = "parley:tool" // an identifier, not a location to load from
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	if err := c.AddResource(name, schema); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// nothing is a loader that rejects all references to other schemas.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("no schema is loaded from %s", url)
}

// words describes the first problem in the style of the source's example: "requires quantity >= 0".
func words(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	what := strings.Join(e.InstanceLocation, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return "requires " + strings.Join(k.Missing, " and ")
	case *kind.AdditionalProperties:
		return fmt.Sprintf("takes no parameter %.80q", k.Properties[0])
	case *kind.Type:
		return fmt.Sprintf("requires %s to be of type %s", what, strings.Join(k.Want, " or "))
	case *kind.Enum:
		return fmt.Sprintf("requires %s to be one of the values in toolSchema", what)
	case *kind.Minimum:
		return fmt.Sprintf("requires %s >= %s", what, k.Want.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("requires %s <= %s", what, k.Want.RatString())
	case *kind.MinLength:
		return fmt.Sprintf("requires %s to have at least %d characters", what, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("requires %s to have at most %d characters", what, k.Want)
	}
	return fmt.Sprintf("requires %s to fit toolSchema", what)
}
