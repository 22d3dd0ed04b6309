package runner

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"parley/reports"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// writeRecording writes the recording of a scenario, with secrets redacted. The transcript is its human-readable form.
func (r *run) writeRecording(d *driverRun, pl Planned, records []transcript.Record) *reports.Transcript {
	if r.o.Out == "" || len(records) == 0 {
		return nil
	}
	rel := filepath.Join("transcripts", d.name+"-"+r.roleName()+pl.ID+".jsonl")
	t, err := writeRecording(r.o.Out, rel, recording.Header{Protocol: r.o.Profile.Protocol, Role: r.o.Profile.Role,
		Driver: d.name, By: cmp.Or(r.o.Protocols.Program, "parley") + " " + r.o.Protocols.Version}, records, r.redact)
	if err != nil {
		r.notWritten("recording", err)
		return nil
	}
	return t
}

// writeRecording writes the records of a scenario to a file as a recording.
func writeRecording(out, rel string, h recording.Header, records []transcript.Record,
	redact *transcript.Redactor) (*reports.Transcript, error) {
	f, err := os.OpenFile(filepath.Join(out, rel), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	buffered := bufio.NewWriter(io.MultiWriter(f, sum))
	w, err := recording.NewWriter(buffered, h, redact)
	if err == nil {
		err = w.Add(records...)
	}
	if err = errors.Join(err, buffered.Flush(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return nil, err
	}
	return &reports.Transcript{Path: filepath.ToSlash(rel), SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}
