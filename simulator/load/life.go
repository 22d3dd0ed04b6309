package load

import (
	"parley/features/verdict"
	"parley/transport/transcript"
)

// Bounds of a life. From tiredRecords or tiredBytes on, the session's next act is to connect anew; what comes after
// mostRecords or mostBytes is not kept: the life is judged by what came before.
const (
	tiredRecords = 96
	tiredBytes   = 48 << 10
	mostRecords  = 512
	mostBytes    = 256 << 10

	mostComments = 16 // pings, heartbeats and the like
	mostFindings = 8
)

// life has the records of one connection of a session. It is guarded by the session's lock until it is submitted.
type life struct {
	name     string
	session  int
	records  []transcript.Record
	bytes    int
	comments int
	cut      bool // not all records were kept
	over     bool // it is submitted: what still comes is not kept
	findings []verdict.Finding
}

// add keeps a record and returns its number.
func (v *life) add(r transcript.Record) int {
	if v.over {
		return len(v.records)
	}
	if r.Kind == transcript.Comment {
		if v.comments++; v.comments > mostComments {
			return len(v.records)
		}
	}
	if v.cut = v.cut || len(v.records) >= mostRecords || v.bytes+len(r.Bytes) > mostBytes; v.cut {
		return len(v.records)
	}
	r.N, r.Event = len(v.records)+1, nil
	v.records = append(v.records, r)
	v.bytes += len(r.Bytes)
	return r.N
}

// tired reports whether the life is long enough.
func (v *life) tired() bool { return len(v.records) >= tiredRecords || v.bytes >= tiredBytes }

// breaks keeps a broken clause.
func (v *life) breaks(f verdict.Finding) {
	if len(v.findings) < mostFindings {
		v.findings = append(v.findings, f)
	}
}
