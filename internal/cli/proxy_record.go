package cli

import (
	"errors"
	"os"
	"time"

	"parley/simulator/proxy"
	"parley/steps"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// record has what passes written to --record, each message at once, so that a killed proxy leaves a recording too. The
// returned function ends it, and returns the first error.
func (o proxyOptions) record(opts *proxy.Options) (end func() error, err error) {
	if o.recording == "" {
		return func() error { return nil }, nil
	}
	f, err := os.OpenFile(o.recording, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, usagef("--record: %s exists (name another file)", o.recording)
	}
	if err != nil {
		return nil, usagef("--record: %v", err)
	}
	h := recording.Header{Protocol: steps.Name(opts.Protocol), URL: o.to, Began: time.Now(),
		By: program + " " + suite.Version, Redacted: true}
	if len(o.command) > 0 {
		h.Driver = overStdio // which a replay starts a process for
	}
	w, err := recording.NewWriter(f, h, nil)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	opts.Record = func(r transcript.Record, redact *transcript.Redactor) {
		r.Bytes, r.Label, r.Type = redact.Bytes(r.Bytes), redact.String(r.Label), redact.String(r.Type)
		err = errors.Join(err, w.Add(r))
	}
	return func() error { return errors.Join(err, f.Close()) }, nil
}
