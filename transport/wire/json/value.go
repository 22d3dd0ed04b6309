package json

import (
	stdjson "encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// MaxDepth is the maximum nesting depth of arrays and objects.
const MaxDepth = 1000

// Number is a number's literal, as written.
//
// It is the type of the standard library, so that JSON Schema validators and
// other encoders know it as a number.
type Number = stdjson.Number

// Object is a JSON object.
type Object = map[string]any

// Kind returns the kind of v: "null", "boolean", "number", "string", "array" or
// "object"; "invalid" if v is not a JSON value.
func Kind(v any) string {
	v, err := view(v)
	if err != nil {
		return "invalid"
	}
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// view returns v as one of the types that Decode returns. Its contents may
// still be of other types.
func view(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, Number, []any, Object:
		return v, nil
	case int:
		return Number(strconv.Itoa(v)), nil
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Bool:
		return r.Bool(), nil
	case reflect.String:
		return r.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Number(strconv.FormatInt(r.Int(), 10)), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Number(strconv.FormatUint(r.Uint(), 10)), nil
	case reflect.Float32, reflect.Float64:
		return viewFloat(r.Float(), r.Type().Bits())
	case reflect.Pointer:
		return viewPointer(r)
	case reflect.Slice, reflect.Array:
		return viewList(r)
	case reflect.Map:
		return viewMap(r)
	}
	return nil, fmt.Errorf("%T is no JSON value", v)
}

// viewPointer follows pointers, up to a limit because one may lead to itself.
func viewPointer(r reflect.Value) (any, error) {
	for range MaxDepth {
		if r.Kind() != reflect.Pointer && r.Kind() != reflect.Interface {
			return view(r.Interface())
		}
		if r.IsNil() {
			return nil, nil
		}
		r = r.Elem()
	}
	return nil, ErrDepth
}

func viewFloat(f float64, bits int) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is no JSON value", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e' // as ECMAScript does
	}
	return Number(strconv.FormatFloat(f, format, -1, bits)), nil
}

func viewList(r reflect.Value) (any, error) {
	// Reject bytes: encoding/json writes them as base64, while a reader may
	// expect text or numbers.
	if r.Type().Elem().Kind() == reflect.Uint8 {
		return nil, fmt.Errorf("%v is no JSON value", r.Type())
	}
	list := make([]any, r.Len())
	for i := range list {
		list[i] = r.Index(i).Interface()
	}
	return list, nil
}

func viewMap(r reflect.Value) (any, error) {
	if r.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%v is no JSON value", r.Type())
	}
	object := make(Object, r.Len())
	for k, v := range r.Seq2() {
		object[k.String()] = v.Interface()
	}
	return object, nil
}
