package runner

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"parley/reports"
	"parley/steps"
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

// writeTranscript writes the transcript of a scenario, with secrets redacted.
func (r *run) writeTranscript(d *driverRun, pl Planned, res steps.Result) *reports.Transcript {
	if r.o.Out == "" || len(res.Records) == 0 {
		return nil
	}
	rel := filepath.Join("transcripts", d.name+"-"+r.roleName()+pl.ID+".txt")
	t, err := writeTranscript(r.o.Out, rel, pl, res, r.redact)
	if err != nil {
		r.notWritten("transcript", err)
		return nil
	}
	return t
}

// writeTranscript writes the transcript of a scenario to a file, or leaves none, as on a full disk.
func writeTranscript(out, rel string, pl Planned, res steps.Result,
	redact *transcript.Redactor) (*reports.Transcript, error) {
	f, err := os.OpenFile(filepath.Join(out, rel), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	b := bufio.NewWriter(io.MultiWriter(f, sum)) // it keeps the first error
	fmt.Fprintf(b, "%s  %s\n%s\n%s\n\n", pl.ID, pl.Name, pl.Location, strings.Join(pl.Tags, " "))
	lines := func(records []transcript.Record) {
		for _, rec := range records {
			_, _ = b.WriteString(redact.String(rec.Line(0)))
			_ = b.WriteByte('\n')
		}
	}
	lines(res.Records)
	if res.Lost > 0 {
		fmt.Fprintf(b, "\nMore than a transcript holds: %d records were left out and not judged. The last of them:\n",
			res.Lost)
		lines(res.Last)
	}
	if err = errors.Join(b.Flush(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return nil, err
	}
	return &reports.Transcript{Path: filepath.ToSlash(rel), SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}
