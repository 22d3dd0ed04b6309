package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// ErrUnsealed says that a results file has no seal, and ErrEdited that its content is not what was sealed.
var (
	ErrUnsealed = errors.New("the file has no seal: an earlier version of the program wrote it")
	ErrEdited   = errors.New("the file was edited after it was written: its seal does not match its content")
)

const sealScheme = "sha256:"

// unsealed is the seal of a file while its digest is computed.
var unsealed = sealScheme + strings.Repeat("0", sha256.Size*2)

// seal puts the seal into the bytes of a results file that has unsealed in its place.
func seal(b []byte) []byte {
	sum := sha256.Sum256(b)
	at := bytes.LastIndex(b, []byte(unsealed))
	hex.Encode(b[at+len(sealScheme):], sum[:])
	return b
}

// CheckSeal reports whether the bytes of a results file are those that WriteJSON wrote. Whoever edits a file can seal
// it again: a seal finds mistakes, and only a signature finds intent.
func CheckSeal(b []byte) error {
	const key = `"seal": "` + sealScheme
	at := bytes.LastIndex(b, []byte(key)) + len(key)
	if at < len(key) || at+sha256.Size*2 > len(b) {
		return ErrUnsealed
	}
	open := bytes.Clone(b)
	copy(open[at:], unsealed[len(sealScheme):])
	sum := sha256.Sum256(open)
	if hex.EncodeToString(sum[:]) != string(b[at:at+sha256.Size*2]) {
		return ErrEdited
	}
	return nil
}
