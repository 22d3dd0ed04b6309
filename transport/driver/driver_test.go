package driver

import (
	"errors"
	"io"
	"testing"

	"parley/transport/transcript"
)

func TestOpenError(t *testing.T) {
	rows := []struct {
		reason string
		err    *OpenError
		want   string
	}{
		{"no answer", &OpenError{URL: "http://h/events", Err: io.ErrUnexpectedEOF}, "open http://h/events: unexpected EOF"},
		{"a refusal", &OpenError{URL: "http://h/events", Status: 404, Err: errors.New("Not Found")},
			"open http://h/events: refused with HTTP status 404: Not Found"},
		{"a status without a name", &OpenError{URL: "http://h/events", Status: 299, Err: errors.New("299")},
			"open http://h/events: refused with HTTP status 299: 299"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if got := r.err.Error(); got != r.want {
				t.Errorf("Error is %q, want %q", got, r.want)
			}
			if !errors.Is(r.err, r.err.Err) {
				t.Error("the cause is lost")
			}
		})
	}
}

// TestTap: records after the harness closes the connection are late, except the end, and what the harness itself
// sends.
func TestTap(t *testing.T) {
	log := transcript.New(nil)
	tap := NewTap(log.Append)
	all := []transcript.Record{
		{Dir: transcript.Received, Kind: transcript.Frame}, {Dir: transcript.Received, Kind: transcript.Response},
		{Dir: transcript.Sent, Kind: transcript.Frame}, {Dir: transcript.Noted, Kind: transcript.Remark},
		{Dir: transcript.Received, Kind: transcript.Closed},
	}
	for range 2 {
		for _, r := range all {
			tap.Sink(r)
		}
		tap.Close()
	}
	for i, r := range log.All() {
		if late := i == len(all) || i == len(all)+1; r.Late != late {
			t.Errorf("record %d: late is %v", i+1, r.Late)
		}
	}
	if n := len(transcript.Judged(log.All())); n != 2*len(all)-2 {
		t.Errorf("%d records are judged", n)
	}
}
