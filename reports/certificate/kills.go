package certificate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonwhy"
	"parley/reports"
)

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
	// "sha256:<hex>" of the scenarios, clauses and mutants that it is of (runner.Proved); "": of Kills.Suite
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
