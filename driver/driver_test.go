package driver

import (
	"errors"
	"io"
	"testing"
)

func TestOpenError(t *testing.T) {
	rows := []struct {
		reason string
		err    *OpenError
		want   string
	}{
		{"no answer", &OpenError{URL: "http://h/events", Err: io.ErrUnexpectedEOF}, "open http://h/events: unexpected EOF"},
		{"a refusal", &OpenError{URL: "http://h/events", Status: 404, Err: errors.New("Not Found")}, "open http://h/events: refused with HTTP status 404: Not Found"},
		{"a status without a name", &OpenError{URL: "http://h/events", Status: 299, Err: errors.New("299")}, "open http://h/events: refused with HTTP status 299: 299"},
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
