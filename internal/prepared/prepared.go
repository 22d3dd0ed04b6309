// Package prepared holds what the suite's files say, read at build time: a program start would spend most of its time
// on reading YAML and Gherkin. What is prepared counts only for the very bytes that it was read from; for others, such
// as edited features or protocols of other modules, it is absent and the caller reads them itself. Its test compares
// it with what the files say, and writes it anew:
//
//	go test ./internal/prepared -update
package prepared

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// One file per key: a line with the digest of the input, and the value as JSON, compressed.
//
//go:embed data
var data embed.FS

// ignored has Get find nothing.
var ignored bool

// Ignore has Get find nothing until the returned function is called. Only for the test that writes the data; not safe
// for concurrent use.
func Ignore() (restore func()) {
	ignored = true
	return func() { ignored = false }
}

// opened are the keys that were asked for.
var opened = struct {
	sync.Mutex
	keys map[string]bool
}{keys: map[string]bool{}}

// Opened returns the keys that this process has asked Get for, sorted: what a start has read, for tests that it reads
// no more than it needs.
func Opened() []string {
	opened.Lock()
	defer opened.Unlock()
	return slices.Sorted(maps.Keys(opened.keys))
}

// Get decodes into out, a pointer, what was prepared under a key, such as "PROTOCOL/ledger", from an input. It
// reports false, and leaves out as it is, unless it was prepared from the same input.
func Get(key string, input []byte, out any) bool {
	opened.Lock()
	opened.keys[key] = true
	opened.Unlock()
	if ignored {
		return false
	}
	packed, err := data.ReadFile("data/" + name(key))
	if err != nil {
		return false
	}
	digest, body, _ := bytes.Cut(packed, []byte("\n"))
	if string(digest) != Digest(input) {
		return false
	}
	r, _ := readers.Get().(*gzip.Reader)
	defer readers.Put(r)
	if err := r.Reset(bytes.NewReader(body)); err != nil {
		return false
	}
	var text bytes.Buffer
	text.Grow(8 * len(body))
	if _, err := text.ReadFrom(r); err != nil {
		return false
	}
	return json.Unmarshal(text.Bytes(), out) == nil
}

// readers are used again: each has a window, and a command reads up to a dozen keys.
var readers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// Pack returns the content of a key's file.
func Pack(input []byte, value any) ([]byte, error) {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	var b bytes.Buffer
	b.WriteString(Digest(input) + "\n")
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Digest identifies an input.
func Digest(input []byte) string {
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:])
}

// name is the file of a key.
func name(key string) string { return strings.ReplaceAll(key, "/", ".") + ".json.gz" }
