package steps

import (
	"strings"
	"time"

	"parley/internal/cut"
	"parley/target"
	"parley/transport/transcript"
)

// Bounds on the part of a target's stderr quoted when something did not come. The report has more of it.
const (
	maxCryLines = 3
	maxCry      = 300 // bytes
)

// OnStderr begins what a target wrote to its stderr, at the end of an observation.
const OnStderr = "; on its stderr: "

// QuoteStderr returns what a target wrote to its stderr as the end of a sentence: the last error and the beginning of
// its stack, or the last lines; redacted, without control characters; "" if there is none.
func (w *World) QuoteStderr(stderr string) string { return QuoteStderr(w.Env.Redact, stderr) }

// QuoteStderr is World.QuoteStderr outside of a scenario.
func QuoteStderr(redact *transcript.Redactor, stderr string) string {
	text := cut.ErrorLine(strings.ToValidUTF8(redact.String(stderr), "?"), maxCryLines, maxCry)
	if text == "" {
		return ""
	}
	return OnStderr + transcript.Printable(text)
}

// quoteSilentStderr is Cry for a target that has sent nothing on a connection since a record: what it wrote since, or
// before.
func (w *World) quoteSilentStderr(conn string, after int) string {
	if w.Target == nil || len(w.Between(conn, after, 0)) > 0 {
		return ""
	}
	if witness, ok := w.Target.(target.Witness); ok {
		since := w.T.Began()
		if at := w.T.Page(after-1, 1); after > 0 && len(at) > 0 {
			since = since.Add(at[0].At)
		}
		if text := w.QuoteStderr(witness.StderrBetween(since, time.Now())); text != "" {
			return text
		}
	}
	return w.QuoteStderr(w.Target.Stderr())
}

// judgedMoment is when something was judged, and when the act before that began.
type judgedMoment struct{ acted, judged time.Time }

// noteStepBegin notes that a step begins: the first one of consecutive acts begins them.
func (w *World) noteStepBegin(outcome bool, at time.Time) {
	if !outcome && !w.acting {
		w.acted = append(w.acted, at)
	}
	w.acting = !outcome
}

// momentOf returns the moment of a judgement.
func (w *World) momentOf(judged time.Time) judgedMoment {
	m := judgedMoment{w.T.Began(), judged}
	for _, at := range w.acted {
		if at.Before(judged) {
			m.acted = at
		}
	}
	return m
}

// lag is how long what a target writes to its stderr may take to be read.
const lag = 100 * time.Millisecond

// Wrote returns what a target wrote to its stderr between the act before a failure and the failure; "" if that is not
// known.
func (f Failure) Wrote(run target.Running) string {
	witness, ok := run.(target.Witness)
	if !ok || f.when.judged.IsZero() {
		return ""
	}
	return witness.StderrBetween(f.when.acted, f.when.judged.Add(lag))
}
