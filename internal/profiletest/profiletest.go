// Package profiletest helps the tests of profiles.
package profiletest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/target"
)

// Parse parses a valid profile. The environment has TOKEN and an empty EMPTY.
func Parse(t *testing.T, kinds target.Kinds, yaml string) *target.Profile {
	t.Helper()
	vars := map[string]string{"TOKEN": "s3cret", "EMPTY": ""}
	p, err := kinds.Parse([]byte(yaml), "profile.yaml",
		func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Mistaken checks that a profile is refused with the given error.
func Mistaken(t *testing.T, kinds target.Kinds, yaml, want string) {
	t.Helper()
	_, err := kinds.Parse([]byte(yaml), "p.yaml", nil)
	var at *target.ProfileError
	if !errors.As(err, &at) {
		t.Fatalf("got %v, want a *ProfileError", err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Diff returns the differences between two profiles, or "".
func Diff(want, got *target.Profile) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(target.Profile{}))
}
