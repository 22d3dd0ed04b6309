package diagnosis

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
)

// Finding is what a run found at one place: a clause was broken in a scenario, in some way.
type Finding struct {
	Scenario string // its id
	Clause   string
	Kind     string // causes.ID of the kinds of what was expected and observed
}

// Fault is a known fault with what it breaks.
type Fault struct {
	ID, Why  string
	Findings []Finding
}

// Set are the known faults of one protocol's targets in one role.
type Set struct {
	faults    []knownFault
	breaks    map[string][]int   // clause → faults
	frequency map[clauseKind]int // how many faults break a clause in this way
}

type knownFault struct {
	ID, Why  string
	findings []weighed
	index    index
}

// NewSet prepares faults for comparison.
func NewSet(faults []Fault) *Set {
	s := &Set{breaks: map[string][]int{}, frequency: map[clauseKind]int{}}
	for n, f := range faults {
		x := newIndex(f.Findings)
		s.faults = append(s.faults, knownFault{ID: f.ID, Why: f.Why, index: x})
		clauses := map[string]bool{}
		for k := range x.kinds {
			s.frequency[k]++
			clauses[k.clause] = true
		}
		for c := range clauses {
			s.breaks[c] = append(s.breaks[c], n)
		}
	}
	for n, f := range faults {
		for _, x := range f.Findings {
			s.faults[n].findings = append(s.faults[n].findings, weighed{x, s.rarityOf(x)})
		}
	}
	return s
}

// File is the content of the signatures file: what each known fault breaks. Strings are stored once.
type File struct {
	Suite string                `json:"suite"` // the digest of the suite when all were run last
	Sets  map[string]*storedSet `json:"sets"`  // by protocol and role
}

type storedSet struct {
	Scenarios []string      `json:"scenarios"`
	Clauses   []string      `json:"clauses"`
	Kinds     []string      `json:"kinds"`
	Faults    []storedFault `json:"faults"`
}

type storedFault struct {
	ID  string `json:"id"`
	Why string `json:"why"`
	// for each clause and kind: their numbers, then those of the scenarios, each less the one before
	At [][]int `json:"at"`
}

func setName(protocol, role string) string { return protocol + " " + role }

// Add adds the faults of a protocol's targets in a role.
func (f *File) Add(protocol, role string, faults []Fault) {
	set := &storedSet{}
	scenarios, clauses, kinds := numbered{}, numbered{}, numbered{}
	for _, one := range faults {
		for _, x := range one.Findings {
			scenarios[x.Scenario], clauses[x.Clause], kinds[x.Kind] = 0, 0, 0
		}
	}
	set.Scenarios, set.Clauses, set.Kinds = scenarios.toNumbers(), clauses.toNumbers(), kinds.toNumbers()
	for _, one := range faults {
		stored := storedFault{ID: one.ID, Why: one.Why, At: [][]int{}}
		at := map[[2]int][]int{}
		for _, x := range one.Findings {
			k := [2]int{clauses[x.Clause], kinds[x.Kind]}
			at[k] = append(at[k], scenarios[x.Scenario])
		}
		for _, k := range slices.SortedFunc(maps.Keys(at), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
			row, before := []int{k[0], k[1]}, 0
			for _, n := range slices.Compact(slices.Sorted(slices.Values(at[k]))) {
				row = append(row, n-before)
				before = n
			}
			stored.At = append(stored.At, row)
		}
		set.Faults = append(set.Faults, stored)
	}
	slices.SortFunc(set.Faults, func(a, b storedFault) int { return cmp.Compare(a.ID, b.ID) })
	if f.Sets == nil {
		f.Sets = map[string]*storedSet{}
	}
	f.Sets[setName(protocol, role)] = set
}

// Faults returns the faults of a protocol's targets in a role.
func (f *File) Faults(protocol, role string) ([]Fault, error) {
	stored := f.Sets[setName(protocol, role)]
	if stored == nil {
		return nil, nil
	}
	faults, err := stored.faults()
	if err != nil {
		return nil, fmt.Errorf("signatures of %s: %w", setName(protocol, role), err)
	}
	return faults, nil
}

// numbered gives each of its strings a number, in their order.
type numbered map[string]int

func (n numbered) toNumbers() []string {
	out := slices.Sorted(maps.Keys(n))
	for i, s := range out {
		n[s] = i
	}
	return out
}

// faults returns the faults of a stored set; an error if a number is out of range.
func (s *storedSet) faults() (out []Fault, err error) {
	for _, f := range s.Faults {
		one := Fault{ID: f.ID, Why: f.Why}
		for _, row := range f.At {
			if len(row) < 2 || !isWithin(row[0], s.Clauses) || !isWithin(row[1], s.Kinds) {
				return nil, fmt.Errorf("fault %s: row %v is out of range", f.ID, row)
			}
			n := 0
			for _, step := range row[2:] {
				if n += step; !isWithin(n, s.Scenarios) {
					return nil, fmt.Errorf("fault %s: row %v is out of range", f.ID, row)
				}
				one.Findings = append(one.Findings, Finding{s.Scenarios[n], s.Clauses[row[0]], s.Kinds[row[1]]})
			}
		}
		out = append(out, one)
	}
	return out, nil
}

func isWithin(n int, list []string) bool { return n >= 0 && n < len(list) }

// Write writes the file, compressed; the same content gives the same bytes.
func (f *File) Write(w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := jsonform.WriteLine(z, f, jsonform.Escaped); err != nil {
		return err
	}
	return z.Close()
}

// Read reads a signatures file.
func Read(b []byte) (*File, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("read signatures: %w", err)
	}
	var f File
	if err := json.UnmarshalRead(z, &f, jsonform.Lenient); err != nil {
		return nil, fmt.Errorf("read signatures: %w", err)
	}
	return &f, nil
}

// Has reports whether a fault of a protocol's target in a role is in the file.
func (f *File) Has(protocol, role, id string) bool {
	set := f.Sets[setName(protocol, role)]
	return set != nil && slices.ContainsFunc(set.Faults, func(one storedFault) bool { return one.ID == id })
}

//go:embed signatures.json.gz
var embedded []byte

// Embedded returns the signatures of this binary: make signatures writes them.
func Embedded() (*File, error) { return Read(embedded) }

// known are the sets of the embedded signatures that were needed until now. Reading and preparing all of them takes
// longer than a small run.
var known = struct {
	sync.Mutex
	file *File
	sets map[string]*Set
}{sets: map[string]*Set{}}

// knownSet returns the embedded signatures of a protocol's targets in a role; nil if there are none.
func knownSet(name string) (*Set, error) {
	known.Lock()
	defer known.Unlock()
	if set, have := known.sets[name]; have {
		return set, nil
	}
	if known.file == nil {
		f, err := Embedded()
		if err != nil {
			return nil, err
		}
		known.file = f
	}
	set, err := known.file.preparedSet(name)
	if err == nil {
		known.sets[name] = set
	}
	return set, err
}

// preparedSet prepares a set of the file, by its name, for comparison; nil if the file does not have it.
func (f *File) preparedSet(name string) (*Set, error) {
	if f.Sets[name] == nil {
		return nil, nil
	}
	protocol, role, _ := strings.Cut(name, " ")
	faults, err := f.Faults(protocol, role)
	if err != nil {
		return nil, err
	}
	return NewSet(faults), nil
}
