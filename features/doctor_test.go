package features_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"parley/features"
	"parley/runner"
	"parley/steps/protocols"
)

// TestDoctorIsApart checks that the doctor's scenarios and the suite's are separate.
func TestDoctorIsApart(t *testing.T) {
	err := fs.WalkDir(features.FS, ".", func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, "doctor") {
			t.Errorf("the suite has %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range features.Protocols() {
		own, err := runner.Scenarios(features.Doctor, protocols.Get(name))
		if err != nil {
			t.Fatal(err)
		}
		apart := func(p runner.Planned) bool { return strings.HasPrefix(p.Location, "features/"+name+"/doctor/") }
		if len(own) == 0 || slices.ContainsFunc(own, func(p runner.Planned) bool { return !apart(p) }) {
			t.Errorf("%s: the doctor has %d scenarios, or some of the suite's", name, len(own))
		}
	}
}
