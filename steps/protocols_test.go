package steps_test

import (
	"io/fs"
	"regexp"
	"testing"
	"testing/fstest"

	"parley/steps"
	"parley/target"
)

// written is a protocol that has only features.
type written struct {
	steps.Protocol
	id    string
	files fstest.MapFS
}

func (w written) Kind() target.Kind { return target.Kind{Protocol: w.id} }
func (w written) Features() fs.FS   { return w.files }

// TestDigest: the digest covers the files in the folders of the protocols, and nothing else. Their order does not
// matter.
func TestDigest(t *testing.T) {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	a := written{id: "a", files: fstest.MapFS{"a/1.feature": text("one"), "a/clauses.yaml": text("two")}}
	b := written{id: "b", files: fstest.MapFS{"b/1.feature": text("three"), "elsewhere/1.feature": text("four")}}
	want := steps.NewProtocols("1", a, b).Digest
	if !regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`).MatchString(want) {
		t.Errorf("the digest is %q", want)
	}
	if got := steps.NewProtocols("2", b, a).Digest; got != want {
		t.Errorf("in another order: %s, want %s", got, want)
	}
	b.files["elsewhere/1.feature"] = text("five")
	if got := steps.NewProtocols("1", a, b).Digest; got != want {
		t.Errorf("with another file outside of the folders: %s, want %s", got, want)
	}
	b.files["b/1.feature"] = text("Three")
	if got := steps.NewProtocols("1", a, b).Digest; got == want {
		t.Error("with another feature the digest is the same")
	}
}
