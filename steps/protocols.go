package steps

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"parley/features/verdict"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
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
			if err := writeDigest(h, p.Features(), Name(p)); err != nil {
				panic(fmt.Sprintf("the features of %s: %v", Name(p), err))
			}
		}
		ps.digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	})
	return ps.digest
}

// writeDigest writes the names and bytes of all files in a folder.
func writeDigest(w io.Writer, fsys fs.FS, folder string) error {
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

// LedgerOf returns the ledger of a protocol, with its rows in Chinese where the protocol has clauses.zh.yaml. It is
// shared: callers only read it.
func LedgerOf(p Protocol) (*verdict.Ledger, error) {
	b, err := fs.ReadFile(p.Features(), Name(p)+"/clauses.yaml")
	if err != nil {
		return nil, err
	}
	chinese, err := fs.ReadFile(p.Features(), Name(p)+"/clauses.zh.yaml")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key := string(b) + "\x00" + string(chinese)
	if known, ok := ledgers.Load(key); ok {
		return known.(*verdict.Ledger), nil
	}
	l, err := verdict.ParseLedger(b)
	if err != nil {
		return nil, err
	}
	if err := l.Translate(chinese); err != nil {
		return nil, err
	}
	ledgers.Store(key, l)
	return l, nil
}

// ledgers holds what was parsed, by its text. Nothing changes a ledger.
var ledgers sync.Map

// Recognisable is an optional interface of protocols whose targets are servers. It recognises messages of the
// protocol. A target that never sends any is not judged: it is another kind of server, or none.
type Recognisable interface {
	// IsServerMessage reports whether a decoded message can only come from a server of this protocol, in the default
	// binding. name is the event's name on an event stream; "" elsewhere.
	IsServerMessage(message any, name string) bool
	// IsServerEvent reports whether an event, decoded by the binding of a profile, comes from a server of this
	// protocol.
	IsServerEvent(ev *transcript.Event) bool
	// UsualPlaces returns where servers of the protocol usually are, the default one first.
	UsualPlaces() []Place
	// PlaceKey returns the profile key that sets the place of the target over a driver.
	PlaceKey(driver string) string
}

// Prober is an optional interface of protocols whose targets may take long for their first message in preflight, and
// that have messages which a target can answer at once.
type Prober interface {
	// Probe returns a connection, and messages that a target answers at once, the most harmless first.
	Probe(env *Env, run target.Running) (driver.OpenOptions, []driver.Message, error)
}

// Place is where a server may be found, and what to send there to make it answer.
type Place struct {
	Driver string
	Path   string
	Say    []string // messages, one text frame each; none on an event stream
}

// SocketPlaces returns places of a server over WebSocket.
func SocketPlaces(say []string, paths ...string) (out []Place) {
	for _, path := range paths {
		out = append(out, Place{Driver: target.WS, Path: path, Say: say})
	}
	return out
}

// SpeaksProtocol reports whether a transcript has a message of a protocol from the target. Echoes of the harness's own
// messages do not count.
func SpeaksProtocol(p Recognisable, records []transcript.Record) bool {
	for _, r := range records {
		if r.Dir != transcript.Received || len(r.Bytes) == 0 {
			continue
		}
		if (r.Event != nil && p.IsServerEvent(r.Event) || isServerRecord(p, r)) && !sentBack(r, records) {
			return true
		}
	}
	return false
}

func isServerRecord(p Recognisable, r transcript.Record) bool {
	if len(r.Bytes) > mostHeard {
		return false
	}
	name := ""
	if r.Kind == transcript.Stream {
		name = r.Type
	}
	v, _, err := wjson.Decode(r.Bytes)
	if err != nil {
		v = nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, v := range list { // a list of messages is malformed, but still of the protocol
		if p.IsServerMessage(v, name) {
			return true
		}
	}
	return false
}

// mostHeard is the size of the largest message by which an unknown target is recognised: decoding takes many times
// that, and what targets say first is short.
const mostHeard = 256 << 10

// sentBack reports whether a record repeats what the harness sent before it.
func sentBack(r transcript.Record, records []transcript.Record) bool {
	for _, s := range records {
		if s.N < r.N && s.Dir == transcript.Sent && bytes.Equal(s.Bytes, r.Bytes) {
			return true
		}
	}
	return false
}

// Text returns a string member of a decoded object; "" if it is missing or not a string.
func Text(v any, name string) string {
	obj, _ := v.(map[string]any)
	s, _ := obj[name].(string)
	return s
}

// Has counts how many of the given names are members of a decoded object.
func Has(v any, names ...string) (n int) {
	obj, _ := v.(map[string]any)
	for _, name := range names {
		if _, ok := obj[name]; ok {
			n++
		}
	}
	return n
}

// Renamer is an optional interface of protocols whose steps had other texts in earlier versions. Users' features and
// live sessions may still use those.
type Renamer interface {
	// Renamed returns pairs: an expression that matches an earlier text as a whole, and the present text, with the groups
	// of the expression as $1, $2.
	Renamed() [][2]string
}

// Current returns the present text of a step, given without its keyword. Any other text is returned unchanged.
func Current(p Protocol, text string) string {
	r, ok := p.(Renamer)
	if !ok {
		return text
	}
	for _, pair := range r.Renamed() {
		if former := cachedExpression(pair[0]); former.MatchString(text) {
			return former.ReplaceAllString(text, pair[1])
		}
	}
	return text
}

var stepLine = regexp.MustCompile(`^(\s*(?:Given|When|Then|And|But|\*) +)(.*?)(\s*)$`)

// CurrentFeature returns a feature file with the present texts of its steps. Its lines keep their numbers.
func CurrentFeature(p Protocol, feature []byte) []byte {
	if _, ok := p.(Renamer); !ok {
		return feature
	}
	lines := bytes.Split(feature, []byte("\n"))
	for i, line := range lines {
		if m := stepLine.FindSubmatch(line); m != nil {
			lines[i] = bytes.Join([][]byte{m[1], []byte(Current(p, string(m[2]))), m[3]}, nil)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// RecordingConverter is an optional interface of protocols whose recordings can be converted to steps.
type RecordingConverter interface {
	// ConvertRecording starts the conversion of a recording. Call the returned function with the records in order, as a
	// reader of recordings gives them: without events. It returns the steps that do what a record of the harness did,
	// and that state what the protocol demands in answer; never what a target happened to answer. known is false if the
	// harness sent something that no step expresses. After the last record, call it with the zero Record. Text below
	// a step, such as a table, follows after a line break. The function is not safe for concurrent use.
	ConvertRecording(what ConvertedRecording) func(r transcript.Record) (lines []string, known bool)
	// TargetDials reports whether targets of a role connect to the harness. Their recordings are converted from the
	// view of the side that recorded; all others from the client's view, whichever side recorded.
	TargetDials(role string) bool
	// CombinedSteps returns steps that can replace several others. They are tried in order.
	CombinedSteps() []Fold
}

// Fold is a step that replaces several.
type Fold struct {
	Steps []string // expressions of consecutive steps; groups with the same name must match the same text
	By    string   // the replacing step; $name is the match of that group
}

// ConvertedRecording describes the converted recording.
type ConvertedRecording struct {
	Role   string // of the target; "" if unknown
	Driver string // "" if unknown
}

// ExpressionOf returns the expression that a step's text matches; "" if none does.
func ExpressionOf(expressions []string, text string) string {
	for _, expr := range expressions {
		if cachedExpression(expr).MatchString(text) {
			return expr
		}
	}
	return ""
}

// Judges says which steps judge which clause: sorted step expressions, by clause.
type Judges map[string][]string

// Add records that a step judges a clause.
func (j Judges) Add(clause, expression string) {
	if !slices.Contains(j[clause], expression) {
		j[clause] = append(j[clause], expression)
		slices.Sort(j[clause])
	}
}

// AtEnd stands for the expression of checks after the last step of a scenario.
const AtEnd = "the end of the scenario"

// judgesFile holds a protocol's Judges, beside its ledger.
const judgesFile = "judges.yaml"

// JudgesOf reads a protocol's Judges from its features; nil if there is no such file.
func JudgesOf(p Protocol) (Judges, error) {
	b, err := fs.ReadFile(p.Features(), Name(p)+"/"+judgesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the judges of %s: %w", Name(p), err)
	}
	var out Judges
	if err := yaml.UnmarshalWithOptions(b, &out, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read the judges of %s: %w", Name(p), err)
	}
	return out, nil
}

// StepWords returns an expression for people, without its anchors.
func StepWords(expression string) string {
	return strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$")
}
