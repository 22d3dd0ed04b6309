package judge

import (
	"slices"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// Bounds of the part of a tape that all monitors see: its beginning, as in a
// run.
const (
	maxBytes    = transcript.MaxBytes
	shownBefore = 200 // records before the new ones that monitors of single records see
)

// tape has the records that are judged together.
type tape struct {
	of     func([]transcript.Record) []transcript.Record // returns the records that a tester would have
	first  []transcript.Record
	bytes  int
	later  []transcript.Record // beyond first: those not judged yet, and some before them
	mark   int                 // number of the last record of later that was judged
	full   bool                // further records go to later
	judged int                 // records of first that were judged
	partly bool                // something is unknown, such as whose a request is: see judgeNew
	owing  *steps.Owing        // nil: what is owed is not known
	ended  bool                // no other record comes
}

func (one *tape) addRecord(r transcript.Record) {
	if one.full = one.full || len(one.first) >= transcript.MaxRecords || one.bytes+len(r.Bytes) > maxBytes; one.full {
		one.later = append(one.later, r)
		return
	}
	one.owing.Take(r)
	one.first, one.bytes = append(one.first, r), one.bytes+len(r.Bytes)
}

// judgeNew returns the judgements of monitors on the new records, together with
// those before them.
func (one *tape) judgeNew(env *steps.Env, monitors []monitor.Monitor) (out []verdict.Judgement, found []steps.Failure) {
	if one.partly { // only judgements on single records count
		monitors = slices.DeleteFunc(slices.Clone(monitors), func(m monitor.Monitor) bool { return !m.PerRecord })
	}
	if one.judged < len(one.first) {
		one.judged = len(one.first)
		out, found = steps.JudgePassively(env, monitors, one.of(one.first))
	}
	if len(one.later) == 0 || one.later[len(one.later)-1].N == one.mark {
		return out, found
	}
	more, others := steps.JudgeRecords(env, monitors, one.mark, one.of(one.later))
	one.mark = one.later[len(one.later)-1].N
	one.later = slices.Clone(one.later[max(0, len(one.later)-shownBefore):])
	return append(out, more...), append(found, others...)
}
