package certificate

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"
	"golang.org/x/sync/errgroup"

	"parley/internal/jsonwhy"
	"parley/reports"
	"parley/reports/lang"
	"parley/transport/transcript"
)

// Suite is what a program knows of suites.
type Suite struct {
	reports.Suite // that it has

	Released map[string]string                                     // version → digest, of released versions
	Clauses  func(protocol, role string) ([]reports.Clause, error) // of the suite that it has
	Kills    *Kills                                                // may be of another suite, or nil
	Mutants  bool                                                  // it has mutants: certificates need a kill matrix

	KillsFile string // where the kill matrices are from; "": from the program
}

// Holder is a public key, with the name of the file that it came from.
type Holder struct {
	Name   string
	Public ed25519.PublicKey
}

// Facts are what a certificate is compared with.
type Facts struct {
	Now      time.Time
	Keys     []Holder // that are trusted; none: any
	Results  []byte   // results.json; nil: not compared
	Dir      string   // the folder of its transcripts
	Artifact *Subject // nil: not compared
	Lang     lang.Lang
}

// State is the result of a check.
type State string

// States of checks. A certificate is good if none is Bad.
const (
	Good    State = "good"
	Bad     State = "bad"
	Unknown State = "not compared" // there was nothing to compare with
)

// Check is one thing that was checked.
type Check struct {
	Name  string
	State State
	Text  string // what was found, for people
}

// Names of checks.
const (
	OfSignature = "signature"
	OfResults   = "results"
	OfArtifact  = "artifact"
	OfSuite     = "suite"
	OfKills     = "kill matrix"
	OfExpiry    = "expiry"
)

// Sound reports whether no check is Bad, apart from those named.
func Sound(checks []Check, but ...string) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return c.State == Bad && !slices.Contains(but, c.Name) })
}

// Verify checks a certificate whose signature is good against what is known. Texts are in the language of the facts,
// but for those of errors.
func Verify(c *Certificate, s Suite, f Facts) []Check {
	return []Check{c.checkKey(f), c.checkResults(f), c.checkArtifact(f), c.checkSuite(s, f.Lang), c.checkKills(s, f.Lang),
		c.checkExpiry(f)}
}

// HolderOf names the holder of the key of a certificate; "" if none of the keys is his.
func HolderOf(c *Certificate, keys []Holder) string {
	for _, k := range keys {
		if k.Public.Equal(c.Public) {
			return k.Name
		}
	}
	return ""
}

func (c *Certificate) checkKey(f Facts) Check {
	l := f.Lang
	if len(f.Keys) == 0 {
		return Check{OfSignature, Good,
			l.Say("matches its content; made with the key %s, and nothing here says who holds it", c.KeyID)}
	}
	if name := HolderOf(c, f.Keys); name != "" {
		return Check{OfSignature, Good,
			l.Say("matches its content; made with the key of %s", transcript.Printable(name))}
	}
	return Check{OfSignature, Bad, l.Say("made with the key %s, which is none of those given", c.KeyID)}
}

func (c *Certificate) checkResults(f Facts) Check {
	l := f.Lang
	if f.Results == nil {
		return Check{OfResults, Unknown, l.Say("no results.json was given")}
	}
	sum, err := DigestOf(bytes.NewReader(f.Results))
	if err != nil || sum != c.Subject[0].Digest.SHA256 {
		return Check{OfResults, Bad, l.Say("this results.json is not the one that was certified")}
	}
	r, err := reports.ReadJSON(bytes.NewReader(f.Results))
	if err != nil {
		return Check{OfResults, Bad, err.Error()}
	}
	files := Files(r)
	if root, err := Root(files); err != nil || root != c.Predicate.Transcripts {
		return Check{OfResults, Bad, l.Say("the transcripts that results.json names are not those that were certified")}
	}
	if err := CheckFiles(f.Dir, files); err != nil {
		return Check{OfResults, Bad, transcript.Printable(err.Error())}
	}
	return Check{OfResults, Good, l.Say("results.json and its %d files are those that were certified", len(files))}
}

func (c *Certificate) checkArtifact(f Facts) Check {
	named, mine, l := c.Artifact(), f.Artifact, f.Lang
	switch {
	case mine == nil && named == nil:
		return Check{OfArtifact, Unknown, l.Say("the certificate names none")}
	case mine == nil:
		return Check{OfArtifact, Unknown,
			l.Say("%s, sha256 %s", transcript.Printable(named.Name), named.Digest.SHA256)}
	case named == nil:
		return Check{OfArtifact, Bad, l.Say("the certificate names none, so that it says nothing about this file")}
	case named.Digest != mine.Digest:
		return Check{OfArtifact, Bad, l.Say("this file is not the one that was certified")}
	}
	return Check{OfArtifact, Good, l.Say("this file is the one that was certified")}
}

func (c *Certificate) checkSuite(s Suite, l lang.Lang) Check {
	p := &c.Predicate
	named := fmt.Sprintf("%s (%s)", transcript.Printable(p.Suite.Version), p.Suite.Digest)
	switch {
	case p.Suite == s.Suite:
		if differs := c.otherClauses(s, l); differs != "" {
			return Check{OfSuite, Bad, differs}
		}
		return Check{OfSuite, Good, l.Say("%s, which this program has; the clauses are the suite's", named)}
	case s.Released[p.Suite.Version] == p.Suite.Digest:
		return Check{OfSuite, Good,
			l.Say("%s, a released one; this program has %s, and did not compare the clauses", named, s.Version)}
	}
	return Check{OfSuite, Bad, l.Say("%s is unknown: this program has %s (%s); verify with the version that has it",
		named, s.Version, s.Digest)}
}

// otherClauses says how the clauses differ from those that the suite has for the role; "" if they do not.
func (c *Certificate) otherClauses(s Suite, l lang.Lang) string {
	t := c.Predicate.Target
	known, err := s.Clauses(t.Protocol, t.Role)
	if err != nil {
		return l.Say("the suite judges no such target: %s", transcript.Printable(err.Error()))
	}
	if len(known) != len(c.Predicate.Clauses) {
		return l.Say("the certificate has %d clauses, and the suite has %d", len(c.Predicate.Clauses), len(known))
	}
	for i, k := range known {
		if x := c.Predicate.Clauses[i]; x.ID != k.ID || x.Level != k.Level || x.Outside != (k.Excluded || k.OtherRole) {
			return l.Say("the clause %s of the certificate is not the suite's %s", x.ID, k.ID)
		}
	}
	return ""
}

func (c *Certificate) checkKills(s Suite, l lang.Lang) Check {
	p := &c.Predicate
	mine, ok := s.Kills.Figures(p.Target.Protocol, p.Target.Role)
	same := ok && p.Kills != nil && s.Kills.Suite == p.Suite && mine.equals(p.Kills)
	switch {
	case s.KillsFile != "" && same:
		return Check{OfKills, Good, l.Say("the one in %s", s.KillsFile)}
	case s.KillsFile != "":
		return Check{OfKills, Bad, l.Say("it is not the one in %s", s.KillsFile)}
	case p.Kills == nil && s.Mutants && p.Suite == s.Suite:
		return Check{OfKills, Bad, l.Say("the certificate has none, although the suite has mutants")}
	case p.Kills == nil:
		return Check{OfKills, Unknown, l.Say("none: nothing shows that the suite detects faults")}
	case !ok || s.Kills.Suite != p.Suite: // such as a protocol of a folder
		return Check{OfKills, Unknown, l.Say("this program has none of that suite")}
	case !same:
		return Check{OfKills, Bad, l.Say("it is not the one that this program has for the suite")}
	}
	return Check{OfKills, Good, l.Say("the one that this program has for the suite")}
}

func (k *KillFigures) equals(o *KillFigures) bool {
	return k.Digest == o.Digest && k.Mutants == o.Mutants && k.Killed == o.Killed && k.Proved == o.Proved &&
		slices.Equal(k.Unproved, o.Unproved)
}

func (c *Certificate) checkExpiry(f Facts) Check {
	p, now, l := &c.Predicate, f.Now, f.Lang
	switch {
	case p.Issued.After(now.Add(24 * time.Hour)):
		return Check{OfExpiry, Bad, l.Say("it was issued in the future, at %s", p.Issued.Format(time.RFC3339))}
	case p.Expired(now):
		return Check{OfExpiry, Bad, l.Say("it expired after %s", p.Expires)}
	}
	end, _ := p.lastMoment()
	return Check{OfExpiry, Good, l.Say("valid until %s, for %d more days", p.Expires, int(end.Sub(now).Hours()/24))}
}

// File is a file beside results.json, as they name it.
type File struct{ Path, SHA256 string }

// Files returns the transcripts, recordings and other evidence that results name, sorted by path.
func Files(r *reports.Results) []File {
	var out []File
	add := func(t *reports.Transcript) {
		if t != nil {
			out = append(out, File{t.Path, t.SHA256})
		}
	}
	for _, run := range r.Runs {
		for _, sc := range run.Scenarios {
			add(sc.Transcript)
			add(sc.Recording)
			for _, e := range sc.Evidence {
				out = append(out, File{e.Path, e.SHA256})
			}
		}
	}
	slices.SortFunc(out, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.SHA256, b.SHA256))
	})
	return out
}

// Root returns the Merkle root of files, which need not exist.
func Root(files []File) (Transcripts, error) {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(at))
		for i, x := range at {
			out[i] = stored[x]
		}
		return out, nil
	})
	for i, f := range files {
		hashes, err := tlog.StoredHashes(int64(i), []byte(f.SHA256+"  "+f.Path), read)
		if err != nil {
			return Transcripts{}, err
		}
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(int64(len(files)), read)
	return Transcripts{Files: len(files), Root: hex.EncodeToString(root[:])}, err
}

// CheckFiles checks that files are in a folder with the content that their digests name. The error names the first
// one that is missing or altered. Nothing outside of the folder is read.
func CheckFiles(dir string, files []File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	folders := map[string]*os.Root{} // opened once: there are thousands of files in two folders
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range files {
		folder, name := path.Split(f.Path)
		if folders[folder] == nil {
			if folders[folder], err = root.OpenRoot(filepath.FromSlash(path.Clean(folder))); err != nil {
				return errors.Join(fmt.Errorf("%s cannot be read: %w", f.Path, err), g.Wait())
			}
			defer folders[folder].Close()
		}
		from := folders[folder]
		g.Go(func() error {
			sum, err := digestIn(from, name)
			switch {
			case err != nil:
				return fmt.Errorf("%s cannot be read: %w", f.Path, err)
			case sum != f.SHA256:
				return fmt.Errorf("%s is not the file that the run wrote: it was altered", f.Path)
			}
			return nil
		})
	}
	return g.Wait()
}

// digestIn returns the digest of a regular file in a folder.
func digestIn(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return DigestOf(f)
}

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// DigestOf returns the SHA-256 of what r has, in hexadecimal.
func DigestOf(r io.Reader) (string, error) {
	h := sha256.New()
	buffer := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buffer)
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{r}, buffer[:]); err != nil { // a file would bring its own buffer
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Kills are the kill matrices of a suite, without what depends on the machine, so that they have a stable digest.
type Kills struct {
	Suite reports.Suite `json:"suite,omitzero"` // of the roles that do not say what they are of
	Roles []RoleKills   `json:"roles"`
}

// RoleKills is the kill matrix of one role of a protocol.
type RoleKills struct {
	Protocol string              `json:"protocol"`
	Role     string              `json:"role"`
	Mutants  int                 `json:"mutants"`
	Survived []string            `json:"survived"` // mutants that are not detected as they should be
	Unproved []string            `json:"unproved"` // binding tested clauses that no mutant proves
	Clauses  map[string][]string `json:"clauses"`  // clause → mutants that it killed, sorted
	// "sha256:<hex>" of the scenarios, clauses and mutants that it is of (runner.ProofDigest); "": of Kills.Suite
	Of string `json:"of,omitzero"`
	// "sha256:<hex>" of the Go files that judge and are judged, where the tree was at hand (internal/generate)
	Sources string `json:"sources,omitzero"`
}

// KillFigures say in a certificate how well the suite detects known faults.
type KillFigures struct {
	Digest   string   `json:"digest"` // "sha256:<hex>" of the matrix of the role
	Mutants  int      `json:"mutants"`
	Killed   int      `json:"killed"`
	Proved   int      `json:"proved"`   // clauses that a mutant proves
	Unproved []string `json:"unproved"` // binding tested clauses that none proves
}

// WriteKills returns the bytes of kill matrices: indented, everything sorted.
func WriteKills(k *Kills) ([]byte, error) {
	b, err := json.Marshal(k, json.Deterministic(true), jsontext.WithIndent(" "))
	return append(b, '\n'), err
}

// ReadKills reads what WriteKills wrote.
func ReadKills(b []byte) (*Kills, error) {
	var k Kills
	if err := json.Unmarshal(b, &k, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not kill matrices: %s", jsonwhy.InFile(err))
	}
	return &k, nil
}

// Figures returns the figures of one role; false if there is no matrix for it.
func (k *Kills) Figures(protocol, role string) (*KillFigures, bool) {
	if k == nil {
		return nil, false
	}
	for _, r := range k.Roles {
		if r.Protocol != protocol || r.Role != role {
			continue
		}
		r.Of, r.Sources = "", "" // the same matrix
		b, err := json.Marshal(&r, json.Deterministic(true))
		if err != nil {
			return nil, false
		}
		sum := sha256.Sum256(b)
		return &KillFigures{Digest: "sha256:" + hex.EncodeToString(sum[:]), Mutants: r.Mutants,
			Killed: r.Mutants - len(r.Survived), Proved: len(r.Clauses), Unproved: append([]string{}, r.Unproved...)}, true
	}
	return nil, false
}

func (k *KillFigures) check() error {
	switch {
	case k == nil:
		return nil
	case !sha256Digest.MatchString(k.Digest):
		return errors.New("the digest of the kill matrix is malformed")
	case k.Mutants < 0 || k.Killed < 0 || k.Killed > k.Mutants || k.Proved < 0 || len(k.Unproved) > maxList:
		return errors.New("the figures of the kill matrix cannot be")
	case slices.ContainsFunc(k.Unproved, func(id string) bool { return !clauseID.MatchString(id) }):
		return errors.New("the kill matrix names a clause that cannot be")
	}
	return nil
}
