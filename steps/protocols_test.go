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
	want := steps.NewProtocols("1", a, b).Digest()
	if !regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`).MatchString(want) {
		t.Errorf("the digest is %q", want)
	}
	if got := steps.NewProtocols("2", b, a).Digest(); got != want {
		t.Errorf("in another order: %s, want %s", got, want)
	}
	b.files["elsewhere/1.feature"] = text("five")
	if got := steps.NewProtocols("1", a, b).Digest(); got != want {
		t.Errorf("with another file outside of the folders: %s, want %s", got, want)
	}
	b.files["b/1.feature"] = text("Three")
	if got := steps.NewProtocols("1", a, b).Digest(); got == want {
		t.Error("with another feature the digest is the same")
	}
}

// unread are features that must not be opened yet.
type unread struct {
	t  *testing.T
	fs fs.FS
}

func (u *unread) Open(name string) (fs.File, error) {
	if u.t != nil {
		u.t.Errorf("%s is opened", name)
	}
	return u.fs.Open(name)
}

// lazy is a protocol whose features count as unread at first.
type lazy struct {
	written
	files *unread
}

func (l lazy) Features() fs.FS { return l.files }

// TestNothingIsReadAtFirst: to make a suite opens no feature; only its digest needs them.
func TestNothingIsReadAtFirst(t *testing.T) {
	files := fstest.MapFS{"a/1.feature": &fstest.MapFile{Data: []byte("one")}}
	l := lazy{written{id: "a"}, &unread{t, files}}
	ps := steps.NewProtocols("1", l)
	l.files.t = nil
	if want := steps.NewProtocols("1", written{id: "a", files: files}).Digest(); ps.Digest() != want {
		t.Errorf("the digest is %s, want %s", ps.Digest(), want)
	}
}
