package steps

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"parley/features/verdict"
	"parley/target"
)

// Protocols are the protocols that a program can judge, in the order of the documentation; the first is the default
// of profiles. They are read-only, and safe for concurrent use.
type Protocols struct {
	// Version is the version of the suite. It changes whenever a verdict may.
	Version string

	Program string // that judges by this suite, for reports; "": parley
	All     []Protocol

	once   sync.Once
	digest string
}

// NewProtocols makes a suite of the given version from its protocols, in the order of the documentation. It reads
// nothing.
func NewProtocols(version string, all ...Protocol) *Protocols {
	return &Protocols{Version: version, All: all}
}

// Digest identifies the suite: "sha256:" over the names and bytes of its features and ledgers. It panics if features
// cannot be read, which is a programming error.
func (ps *Protocols) Digest() string {
	ps.once.Do(func() {
		h := sha256.New()
		for _, p := range ps.Sorted() {
			if err := digest(h, p.Features(), Name(p)); err != nil {
				panic(fmt.Sprintf("the features of %s: %v", Name(p), err))
			}
		}
		ps.digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	})
	return ps.digest
}

// digest writes the names and bytes of all files in a folder.
func digest(w io.Writer, fsys fs.FS, folder string) error {
	return fs.WalkDir(fsys, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == judgesFile { // derived from the steps
			return err
		}
		b, err := fs.ReadFile(fsys, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s %d\n", path, len(b))
		_, err = w.Write(b)
		return err
	})
}

// UnknownProtocolError says that the suite does not have the named protocol.
type UnknownProtocolError struct {
	Name  string
	Known []string
}

func (e *UnknownProtocolError) Error() string {
	return fmt.Sprintf("protocol %q is unknown; known: %s", e.Name, strings.Join(e.Known, ", "))
}

// Names returns the ids of the protocols, sorted.
func (ps *Protocols) Names() []string {
	var all []string
	for _, p := range ps.All {
		all = append(all, p.Kind().Protocol)
	}
	slices.Sort(all)
	return all
}

// Sorted returns the protocols, sorted by id.
func (ps *Protocols) Sorted() []Protocol {
	return slices.SortedFunc(slices.Values(ps.All), func(a, b Protocol) int {
		return strings.Compare(a.Kind().Protocol, b.Kind().Protocol)
	})
}

// Find returns the protocol with an id. The error is an *UnknownProtocolError.
func (ps *Protocols) Find(name string) (Protocol, error) {
	for _, p := range ps.All {
		if p.Kind().Protocol == name {
			return p, nil
		}
	}
	return nil, &UnknownProtocolError{name, ps.Names()}
}

// OfClause returns the id of the protocol whose document has a clause; "" if none has.
func (ps *Protocols) OfClause(id string) string {
	for _, p := range ps.All {
		if k := p.Kind(); strings.HasPrefix(id, k.Prefix+"-") {
			return k.Protocol
		}
	}
	return ""
}

// Naming returns the ids of the protocols that may know the clause or scenario with an id, sorted: those whose ledgers
// contain the id, wherever it is in the text, or whose scenarios start like it. It opens no ledger, and returns none if
// no protocol knows the id.
func (ps *Protocols) Naming(id string) []string {
	var out []string
	for _, p := range ps.Sorted() {
		text, err := fs.ReadFile(p.Features(), Name(p)+"/clauses.yaml")
		if err != nil || strings.HasPrefix(id, p.Kind().Prefix+"-") || bytes.Contains(text, []byte(id)) {
			out = append(out, Name(p))
		}
	}
	return out
}

// Kinds returns what the protocols say of their targets.
func (ps *Protocols) Kinds() target.Kinds {
	var all target.Kinds
	for _, p := range ps.All {
		all = append(all, p.Kind())
	}
	return all
}

// Roles returns the roles that targets of a protocol can have, the default one first; nil for an unknown protocol.
func (ps *Protocols) Roles(name string) []string {
	p, err := ps.Find(name)
	if err != nil {
		return nil
	}
	return slices.Clone(p.Kind().Roles)
}

// LedgerOf returns the ledger of a protocol. It is shared: callers only read it.
func LedgerOf(p Protocol) (*verdict.Ledger, error) {
	b, err := fs.ReadFile(p.Features(), Name(p)+"/clauses.yaml")
	if err != nil {
		return nil, err
	}
	if known, ok := ledgers.Load(string(b)); ok {
		return known.(*verdict.Ledger), nil
	}
	l, err := verdict.ParseLedger(b)
	if err == nil {
		ledgers.Store(string(b), l)
	}
	return l, err
}

// ledgers holds what was parsed, by its text. Nothing changes a ledger.
var ledgers sync.Map
