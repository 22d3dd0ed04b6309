package expression

import (
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
)

// maxPatched bounds the JSON text of a value that is patched, and of what the operations copy: the whole value is read
// and written each time.
const maxPatched = 256 << 10

// patched is the function patched(value, operations) of expressions: what a value becomes by the operations of a JSON
// Patch (RFC 6902). Operations that do not apply are an error. A value that is too large stays as it is, so that
// nothing is wrong with it.
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
	if len(value) > maxPatched {
		return args[0], nil
	}
	o := jsonpatch.NewApplyOptions()
	o.SupportNegativeIndices, o.AccumulatedCopySizeLimit, o.EscapeHTML = false, maxPatched, false
	out, err := patch.ApplyWithOptions(value, o)
	var large *jsonpatch.AccumulatedCopySizeError
	switch {
	case errors.As(err, &large):
		return args[0], nil
	case err != nil:
		return nil, fmt.Errorf("the operations do not apply: %w", err)
	}
	var v any
	if err := json.Unmarshal(out, &v, jsonform.Lenient, jsonform.Numbers); err != nil {
		return nil, err
	}
	return Plain(v), nil
}
