package reports

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"

	"parley/internal/jsonwhy"
	"parley/internal/words"
)

// WriteJSON writes r as results.json: indented, keys in the order of the model, map keys sorted, empty lists and maps
// as [] and {}. The schema id is always SchemaID. A byte that is not UTF-8 is written as the four characters \xNN, so
// that the file stays valid and the byte visible.
func WriteJSON(w io.Writer, r *Results) error {
	c := *r
	c.Schema = SchemaID
	c.Seal = unsealed
	var b bytes.Buffer
	err := json.MarshalWrite(&b, &c, json.Deterministic(true), jsontext.WithIndent("  "),
		legacy.OmitEmptyWithLegacySemantics(true), json.WithMarshalers(json.MarshalToFunc(marshalText)))
	if err != nil {
		return fmt.Errorf("write results.json: %w", err)
	}
	b.WriteByte('\n')
	_, err = w.Write(insertSeal(b.Bytes()))
	return err
}

// marshalText keeps bytes that are not UTF-8 visible.
func marshalText(enc *jsontext.Encoder, s string) error {
	return enc.WriteToken(jsontext.String(validUTF8(s)))
}

// ReadJSON reads a results.json and rejects anything else: another version of the schema, an unknown or missing key,
// a value out of range, a duplicate key, trailing data, or parts that contradict each other. What is longer than
// MaxJSON is not read.
func ReadJSON(r io.Reader) (*Results, error) {
	b, err := readObject(r, MaxJSON)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if err := checkSchemaID(b); err != nil {
		return nil, err
	}
	if err := Validate(b); err != nil {
		return nil, err
	}
	var res Results
	if err := json.Unmarshal(b, &res, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read results: %s", jsonwhy.InFile(err))
	}
	if err := checkConsistency(&res); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	res.Schema = SchemaID
	return &res, nil
}

// MaxJSON is the size of the largest results that are read.
const MaxJSON = 64 << 20

// readObject reads the text of a JSON object of at most max bytes.
func readObject(r io.Reader, max int64) ([]byte, error) {
	in := bufio.NewReader(io.LimitReader(r, max+1))
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" { // editors write it
		_, _ = in.Discard(len(mark))
	}
	for {
		c, err := in.ReadByte()
		switch {
		case err == nil && (c == ' ' || c == '\n' || c == '\r' || c == '\t'):
			continue
		case err == nil && c != '{':
			return nil, errors.New("it is not a JSON object (name the results.json of a run)")
		case err == nil:
			_ = in.UnreadByte()
		case !errors.Is(err, io.EOF):
			return nil, err
		}
		b, err := io.ReadAll(in)
		if int64(len(b)) > max {
			return nil, fmt.Errorf("it is longer than %d bytes", max)
		}
		return b, err
	}
}

// newerSchema matches the schema ids of all versions.
var newerSchema = regexp.MustCompile(`^(?:urn:parley:results:|https://parley\.dev/schema/results-)([0-9]+)(?:\.json)?$`)

// checkSchemaID runs first: about a file in another format, no other error is useful.
func checkSchemaID(b []byte) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("read results: %s (name the results.json of a run)", jsonwhy.InFile(err))
	}
	if n := newerSchema.FindStringSubmatch(head.Schema); n != nil {
		if version, err := strconv.Atoi(n[1]); err != nil || version > 1 {
			return fmt.Errorf("read results: schema is %q, want %q: a newer version of parley wrote it (update parley)",
				head.Schema, SchemaID)
		}
	}
	if head.Schema != SchemaID && head.Schema != FormerSchemaID {
		if head.Schema == "" {
			return errors.New("read results: it has no schema (name the results.json of a run)")
		}
		return fmt.Errorf("read results: schema is %q, want %q", head.Schema, SchemaID)
	}
	return nil
}

// Load has the figures of `parley load`. Times are milliseconds; an act's latency counts from the time at which it was
// due, so that it includes the time for which it had to wait.
type Load struct {
	Driver   string  `json:"driver"`
	Shape    string  `json:"shape"`
	Sessions int     `json:"sessions"`
	Rate     float64 `json:"rate"`        // acts per second that were due, of the whole shape
	Duration float64 `json:"duration_ms"` // of the schedule

	Opened      int   `json:"opened"`   // sessions that got ready
	Sent        int64 `json:"sent"`     // messages
	Received    int64 `json:"received"` // messages
	Lives       int64 `json:"lives"`    // connections that were judged
	Unjudged    int64 `json:"unjudged,omitempty"`
	Violations  int64 `json:"violations"`   // findings on binding clauses, each message counted
	BrokenLives int64 `json:"broken_lives"` // connections on which a clause was broken
	// by clause: connections that showed it kept
	Shown       map[string]int64 `json:"shown,omitempty"`
	Unfinished  int64            `json:"unfinished"` // acts that were due and had no answer at the end
	Lag         int64            `json:"lag_us"`     // by which the schedule itself was late at most, in microseconds
	Interrupted bool             `json:"interrupted,omitempty"`

	// Of a load of several workers. What a lost worker had reported before is among the figures.
	Workers      []LoadWorker `json:"workers,omitempty"`
	LostSessions int          `json:"lost_sessions,omitempty"` // those of lost workers
	Unshown      []string     `json:"unshown,omitempty"`       // clauses that a worker found broken, without its evidence

	All    LoadAct     `json:"all"` // all acts but connecting
	Acts   []LoadAct   `json:"acts"`
	Steps  []LoadAct   `json:"steps,omitempty"` // of shape "step"
	Errors []LoadError `json:"errors,omitempty"`

	Memory     LoadMemory      `json:"memory"`
	Thresholds []LoadThreshold `json:"thresholds"`
}

// LoadAct has the figures of one kind of act, or of a step.
type LoadAct struct {
	Name   string  `json:"name"`
	Wanted float64 `json:"wanted,omitempty"` // of a step: acts per second that were due
	Count  int64   `json:"count"`
	Failed int64   `json:"failed"`
	Rate   float64 `json:"rate"` // per second
	P50    float64 `json:"p50_ms"`
	P90    float64 `json:"p90_ms"`
	P99    float64 `json:"p99_ms"`
	P999   float64 `json:"p999_ms"`
	Max    float64 `json:"max_ms"`
}

// LoadError is a kind of error.
type LoadError struct {
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	Example string `json:"example,omitempty"`
}

// LoadWorker is one of the workers of a load, in the order of their numbers.
type LoadWorker struct {
	PID        int       `json:"pid"`
	Host       string    `json:"host,omitempty"` // its machine, if that is not the one that has merged the load
	Sessions   int       `json:"sessions"`
	Opened     int       `json:"opened"` // sessions that got ready
	Acts       int64     `json:"acts"`   // without connecting
	Failed     int64     `json:"failed"`
	Lives      int64     `json:"lives"` // connections that were judged
	Violations int64     `json:"violations"`
	Session    int64     `json:"session"` // its bytes for each session at rest
	Peak       int64     `json:"peak"`    // the most bytes that it had
	Lost       *LoadLoss `json:"lost,omitempty"`
}

// LoadLoss says that a worker did not end as it should.
type LoadLoss struct {
	Since float64 `json:"since_ms"` // of the load, when it reported last
	Why   string  `json:"why"`
	Acts  int64   `json:"acts"` // that were due at its sessions, and are not among the figures
}

// LoadMemory has the memory of both sides, in bytes. Those of the target are 0 if it was not started by Parley, or the
// system does not tell.
type LoadMemory struct {
	Session       int64 `json:"session"`        // of this process, or of the workers, for each session at rest
	Peak          int64 `json:"peak"`           // the most that this process had, or all workers together
	TargetSession int64 `json:"target_session"` // of the target for each session at rest, after all are open
	TargetPeak    int64 `json:"target_peak"`
}

// LoadThreshold is a threshold, and whether the load kept it. Latencies are milliseconds.
type LoadThreshold struct {
	Name  string  `json:"name"` // such as "p99"
	Limit float64 `json:"limit"`
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
}

// exceededThresholds returns the thresholds that the load did not keep; none without a load.
func (l *Load) exceededThresholds() (out []LoadThreshold) {
	if l == nil {
		return nil
	}
	for _, t := range l.Thresholds {
		if !t.OK {
			out = append(out, t)
		}
	}
	return out
}

// String describes the threshold and the value.
func (t LoadThreshold) String() string {
	switch name, percent := strings.CutSuffix(t.Name, " %"); {
	case percent:
		return fmt.Sprintf("%.3g %% %s, and %.3g %% are allowed", t.Value, name, t.Limit)
	case name == "errors":
		return fmt.Sprintf("%s, and %.0f are allowed", words.Counted(int(t.Value), "error"), t.Limit)
	}
	return fmt.Sprintf("%s is %s, and %s is allowed", t.Name, latencyText(t.Value), latencyText(t.Limit))
}

// latencyText renders milliseconds.
func latencyText(ms float64) string {
	switch {
	case ms >= 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.3g ms", ms)
}

// Said describes the load in sentences, for the notes of its run.
func (l *Load) Said() []string {
	out := []string{
		fmt.Sprintf("%s over %s, %s: %.4g acts per second were due for %.4g s, and %.4g per second were done; "+
			"p50 %s, p99 %s, p99.9 %s, at most %s", words.Counted(l.Sessions, "session"), l.Driver, l.Shape, l.Rate,
			l.Duration/1000,
			l.All.Rate, latencyText(l.All.P50), latencyText(l.All.P99), latencyText(l.All.P999), latencyText(l.All.Max)),
		fmt.Sprintf("%d messages were sent and %d received; %d connections were judged, and a clause was broken on %d of "+
			"them", l.Sent, l.Received, l.Lives, l.BrokenLives),
		fmt.Sprintf("memory of a session at rest: %s here%s; at most %s here%s", formatKilobytes(l.Memory.Session),
			ofTarget(l.Memory.TargetSession), formatKilobytes(l.Memory.Peak), ofTarget(l.Memory.TargetPeak)),
	}
	out = append(out, l.describeShown()...)
	out = append(out, l.describeWorkers()...)
	for _, e := range l.Errors {
		out = append(out, fmt.Sprintf("%s: %s, such as: %s", words.Counted(int(e.Count), "error"), e.Kind, e.Example))
	}
	if l.Unfinished > 0 {
		out = append(out, fmt.Sprintf("%s without an answer at the end", words.Counted(int(l.Unfinished), "act")))
	}
	if l.Unjudged > 0 {
		out = append(out, fmt.Sprintf("%s not judged, as what they carried came faster than the monitors can judge",
			words.Counted(int(l.Unjudged), "connection")))
	}
	if l.Lag > lateSchedule {
		out = append(out, fmt.Sprintf("the schedule itself was up to %s late: this machine is too slow for this load, and "+
			"the latencies include that", latencyText(float64(l.Lag)/1000)))
	}
	return out
}

// seldomShown bounds the clauses that describeShown names.
const seldomShown = 5

// describeShown says which clauses were shown to be kept, and on how few connections, in a sentence; none if none was.
func (l *Load) describeShown() []string {
	if len(l.Shown) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(l.Shown))
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(l.Shown[a], l.Shown[b]) })
	var seldom []string
	for _, id := range ids[:min(len(ids), seldomShown)] {
		seldom = append(seldom, fmt.Sprintf("%s on %d", id, l.Shown[id]))
	}
	return []string{fmt.Sprintf("%s shown to be kept, on the fewest connections: %s",
		words.Counted(len(ids), "clause"), strings.Join(seldom, ", "))}
}

// describeWorkers describes the workers in sentences; none if there was one process.
func (l *Load) describeWorkers() (out []string) {
	if len(l.Workers) == 0 {
		return nil
	}
	out = append(out, fmt.Sprintf("%s carried out the load", words.Counted(len(l.Workers), "worker")))
	for i, w := range l.Workers {
		if w.Lost != nil {
			out = append(out, fmt.Sprintf("worker %d (process %d) was lost with its %s, and reported last %s after the "+
				"beginning: %s; of what was due at its sessions, %s not in the figures", i+1, w.PID,
				words.Counted(w.Sessions, "session"),
				latencyText(w.Lost.Since), w.Lost.Why, describeMissing(w.Lost.Acts)))
		}
	}
	if len(l.Unshown) > 0 {
		out = append(out, fmt.Sprintf("workers found %s broken, and were lost before they could show it",
			strings.Join(l.Unshown, ", ")))
	}
	return out
}

func describeMissing(acts int64) string {
	if acts == 1 {
		return "1 act is"
	}
	return fmt.Sprintf("%d acts are", acts)
}

// lateSchedule is how late a schedule may be without mention, in microseconds.
const lateSchedule = 20_000

func formatKilobytes(n int64) string {
	if n <= 0 {
		return "too little to be measured"
	}
	if n >= 10<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/1024)
}

func ofTarget(n int64) string {
	if n == 0 {
		return ""
	}
	return ", " + formatKilobytes(n) + " in the target"
}

// tableRows returns the lines of a table: each act, all of them, each step.
func (l *Load) tableRows() (out []LoadAct) {
	out = append(append(out, l.Acts...), l.All)
	for _, s := range l.Steps {
		s.Name = fmt.Sprintf("%.0f per second", s.Wanted)
		out = append(out, s)
	}
	return out
}

// writeLoad writes the table of a load.
func (c *console) writeLoad(l *Load) {
	if l == nil {
		return
	}
	c.printHeading(cyan, "Under load")
	c.line("  %-20s %9s %8s %9s %9s %9s %9s", "act", "count", "failed", "p50", "p90", "p99", "max")
	for _, a := range l.tableRows() {
		c.line("  %-20s %9d %8d %9s %9s %9s %9s", a.Name, a.Count, a.Failed, latencyText(a.P50),
			latencyText(a.P90), latencyText(a.P99), latencyText(a.Max))
	}
}

// writeLoad writes the table of a load.
func (m *markdown) writeLoad(l *Load) {
	if l == nil {
		return
	}
	m.line("| act | count | failed | p50 | p90 | p99 | max |")
	m.line("|---|--:|--:|--:|--:|--:|--:|")
	for _, a := range l.tableRows() {
		m.line("| %s | %d | %d | %s | %s | %s | %s |", escapeMD(a.Name), a.Count, a.Failed, latencyText(a.P50),
			latencyText(a.P90), latencyText(a.P99), latencyText(a.Max))
	}
	m.line("")
}

// ErrUnsealed says that a results file has no seal, and ErrEdited that its content is not what was sealed.
var (
	ErrUnsealed = errors.New("the file has no seal: an earlier version of the program wrote it")
	ErrEdited   = errors.New("the file was edited after it was written: its seal does not match its content")
)

const sealScheme = "sha256:"

// unsealed is the seal of a file while its digest is computed.
var unsealed = sealScheme + strings.Repeat("0", sha256.Size*2)

// insertSeal puts the seal into the bytes of a results file that has unsealed in its place.
func insertSeal(b []byte) []byte {
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
