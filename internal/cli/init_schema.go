package cli

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// writeProfileSchema prints the JSON Schema of profiles.
func writeProfileSchema(args []string, w io.Writer) error {
	if len(args) > 0 {
		return usagef("init: --schema probes nothing, found %q (leave it out)", args[0])
	}
	text, err := json.Marshal(suite.Kinds().Schema(), json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
