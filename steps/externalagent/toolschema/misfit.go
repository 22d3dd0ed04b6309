package toolschema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// misfit is why params do not match a schema, in words that name each place: "/seat: got number, want string".
type misfit struct{ err *jsonschema.ValidationError }

func (m *misfit) Unwrap() error { return m.err }

func (m *misfit) Error() string {
	const most = 5
	places := placesOf(m.err)
	if len(places) > most {
		places = append(places[:most], "and more")
	}
	return strings.Join(places, "; ")
}

// placesOf returns what is wrong, place by place. Alternatives of which none matches are one place.
func placesOf(e *jsonschema.ValidationError) (all []string) {
	var below []string
	for _, cause := range e.Causes {
		below = append(below, placesOf(cause)...)
	}
	text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	switch alternatives := strings.HasPrefix(text, "'anyOf'") || strings.HasPrefix(text, "'oneOf'"); {
	case alternatives && len(below) > 0:
		text = "no alternative matches (" + strings.Join(below, "; ") + ")"
	case len(below) > 0 && !strings.HasPrefix(text, "invalid propertyName"): // which has lost its place below
		slices.Sort(below) // the validator looks at members in any order
		return below
	}
	if len(e.InstanceLocation) > 0 {
		text = "/" + strings.Join(e.InstanceLocation, "/") + ": " + text
	}
	return []string{text}
}

// plainly returns an error of the validator in plain words.
func plainly(err error) error {
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return &misfit{invalid}
	}
	var nowhere *jsonschema.JSONPointerNotFoundError
	if errors.As(err, &nowhere) {
		return fmt.Errorf("the reference %s leads nowhere", strings.TrimPrefix(nowhere.URL, resource))
	}
	return err
}
