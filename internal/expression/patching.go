package expression

import (
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
)

// maxPatched bounds the JSON text of what patched returns, and of what its operations copy.
const maxPatched = 1 << 20

// patched is the function patched(value, operations) of expressions: what a value becomes by the operations of a JSON
// Patch (RFC 6902). Operations that do not apply are an error.
func patched(args ...any) (any, error) {
	value, err := json.Marshal(args[0])
	if err != nil {
		return nil, fmt.Errorf("the value: %w", err)
	}
	operations, err := json.Marshal(args[1])
	if err != nil {
		return nil, fmt.Errorf("the operations: %w", err)
	}
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return nil, fmt.Errorf("the operations are no JSON Patch: %w", err)
	}
	o := jsonpatch.NewApplyOptions()
	o.SupportNegativeIndices, o.AccumulatedCopySizeLimit, o.EscapeHTML = false, maxPatched, false
	out, err := patch.ApplyWithOptions(value, o)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the operations do not apply: %w", err)
	case len(out) > maxPatched:
		return nil, fmt.Errorf("the patched value is longer than %d bytes", maxPatched)
	}
	var v any
	if err := json.Unmarshal(out, &v, jsonform.Lenient, jsonform.Numbers); err != nil {
		return nil, err
	}
	return Plain(v), nil
}
