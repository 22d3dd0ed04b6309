package load

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"parley/features/verdict"
	"parley/steps"
)

// Report has all that a worker has done since its beginning, so that each report replaces the one before.
type Report struct {
	At    time.Duration `json:"at"` // since the worker's first connection
	Phase string        `json:"phase"`

	Open     int   `json:"open"`   // sessions with a connection
	Opened   int   `json:"opened"` // sessions that got ready; 0 until all are open or have failed
	Done     int64 `json:"done"`   // acts, with those that have failed
	Failed   int64 `json:"failed"`
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`

	Acts   []Timing  `json:"acts,omitempty"`   // by name
	Stages []Timing  `json:"stages,omitempty"` // of shape step
	Latest []byte    `json:"latest,omitempty"` // since the last report
	Errors []Failing `json:"errors,omitempty"`

	Found      int64                      `json:"found"` // findings, also on connections that have not been judged yet
	Lives      int64                      `json:"lives"`
	Unjudged   int64                      `json:"unjudged"`
	Violations int64                      `json:"violations"`
	Broken     int64                      `json:"broken"`
	Worst      map[string]verdict.Outcome `json:"worst,omitempty"`
	Kept       map[string]int64           `json:"kept,omitempty"` // by clause: connections that showed it kept

	Unfinished int64         `json:"unfinished"`
	Lag        time.Duration `json:"lag"`
	Rested     int64         `json:"rested"` // bytes of the process for its sessions at rest
	Peak       int64         `json:"peak"`   // the most bytes of the process
}

// Timing has the latencies of a kind of act.
type Timing struct {
	Name    string `json:"name,omitempty"`
	Failed  int64  `json:"failed,omitempty"`
	Latency []byte `json:"latency"` // see encodeHistogram
}

// Failing has the figures of a kind of error.
type Failing struct {
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	Example string `json:"example"`
}

// encodeHistogram writes a histogram in few bytes: for each latency that occurs, in ascending order, by how much it is
// longer than the one before, and how often it occurs, both as varints.
func encodeHistogram(h *hdrhistogram.Histogram) (out []byte) {
	last := int64(0)
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			out = binary.AppendUvarint(out, uint64(bar.From-last))
			out = binary.AppendUvarint(out, uint64(bar.Count))
			last = bar.From
		}
	}
	return out
}

var (
	errCounts = errors.New("these are no counts of latencies")
	errReport = errors.New("this is no report of a worker")
)

// decodeHistogram adds to a histogram what encodeHistogram has written.
func decodeHistogram(h *hdrhistogram.Histogram, b []byte) error {
	last := int64(0)
	for len(b) > 0 {
		longer, size := binary.Uvarint(b)
		if size <= 0 || longer > uint64(highest-last) {
			return errCounts
		}
		b = b[size:]
		times, size := binary.Uvarint(b)
		if size <= 0 || times == 0 || times > math.MaxInt32 {
			return errCounts
		}
		b = b[size:]
		last += int64(longer)
		if err := h.RecordValues(last, int64(times)); err != nil {
			return err
		}
	}
	return nil
}

// addToReport adds to a report what the meter has measured, and forgets the latest latencies.
func (m *meter) addToReport(to *Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to.Done, to.Failed, to.Latest = m.done, m.failed, encodeHistogram(m.latest)
	m.latest.Reset()
	for _, name := range m.names {
		to.Acts = append(to.Acts, Timing{name, m.acts[name].failed, encodeHistogram(m.acts[name].latency)})
	}
	for _, a := range m.stages {
		to.Stages = append(to.Stages, Timing{"", a.failed, encodeHistogram(a.latency)})
	}
	for _, kind := range m.kinds {
		to.Errors = append(to.Errors, Failing{cutTo(kind), m.errors[kind].count, cutTo(m.errors[kind].example)})
	}
}

// Bounds of what a worker reports.
const (
	maxActs  = 64   // kinds of acts
	maxLabel = 2048 // bytes of a name, a kind or an example

	maxClauses = 4096
)

func cutTo(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxLabel)], "") }

// completedActs returns how many acts are complete or have failed, without connecting.
func (r Report) completedActs() (n int64) {
	for _, one := range r.Acts {
		if one.Name != steps.LoadConnect {
			h := newHistogram()
			_ = decodeHistogram(h, one.Latency)
			n += h.TotalCount()
		}
	}
	return n
}

// checkReport rejects what no worker of this version reports.
func (r Report) checkReport() error {
	h := newHistogram()
	all := append(append([]Timing{{Latency: r.Latest}}, r.Acts...), r.Stages...)
	if len(all) > maxActs+steppings+1 || len(r.Stages) > steppings || len(r.Errors) > maxKinds+1 ||
		len(r.Worst) > maxClauses || len(r.Kept) > maxClauses || r.At < 0 || r.hasNegative() {
		return errReport
	}
	for _, one := range all {
		if len(one.Name) > maxLabel || decodeHistogram(h, one.Latency) != nil {
			return errReport
		}
	}
	return nil
}

// hasNegative reports whether one of the counts is below 0.
func (r Report) hasNegative() bool {
	least := min(int64(r.Open), int64(r.Opened), r.Done, r.Failed, r.Sent, r.Received, r.Found, r.Lives, r.Unjudged,
		r.Violations, r.Broken, r.Unfinished, int64(r.Lag), r.Rested, r.Peak)
	for _, one := range append(slices.Clone(r.Acts), r.Stages...) {
		least = min(least, one.Failed)
	}
	for _, one := range r.Errors {
		least = min(least, one.Count)
	}
	for _, n := range r.Kept {
		least = min(least, n)
	}
	return least < 0
}

// mergeReport adds the figures of a checked report.
func (m *meter) mergeReport(r Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += r.Done
	m.failed += r.Failed
	for _, one := range r.Acts {
		a := m.actFigures(one.Name)
		a.failed += one.Failed
		_ = decodeHistogram(a.latency, one.Latency)
		if one.Name != steps.LoadConnect {
			_ = decodeHistogram(m.all, one.Latency)
		}
	}
	for i, one := range r.Stages[:min(len(r.Stages), len(m.stages))] {
		m.stages[i].failed += one.Failed
		_ = decodeHistogram(m.stages[i].latency, one.Latency)
	}
	for _, one := range r.Errors {
		m.countErrors(cutTo(one.Kind), cutTo(one.Example), one.Count)
	}
}
