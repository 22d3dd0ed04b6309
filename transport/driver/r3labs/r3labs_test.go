package r3labs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	lib "github.com/r3labs/sse/v2"

	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
)

// stream serves bytes as an event stream, and then ends it.
func stream(t *testing.T, media, body string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// listenTo opens a stream, waits until it has ended, and returns its records.
func listenTo(t *testing.T, d driver.Driver, url string) []transcript.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := transcript.New(nil)
	c, err := d.Open(ctx, driver.OpenOptions{Party: "A", URL: url}, log.Append)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(driver.Reset)
	if _, err := log.Await(ctx, 0, func(r *transcript.Record) bool { return r.Kind == transcript.Closed }); err != nil {
		t.Fatal(err)
	}
	return log.All()
}

// remark returns the interop driver's remark on a stream; "" if there is none.
func remark(t *testing.T, records []transcript.Record) string {
	t.Helper()
	text := ""
	for _, r := range records {
		switch {
		case r.Kind != transcript.Remark:
		case text != "" || r.Dir != transcript.Noted || r.Conn != "A" || !strings.HasPrefix(r.Label, RemarkPrefix):
			t.Errorf("an odd remark: %s", r.Line(0))
		default:
			text = strings.TrimPrefix(r.Label, RemarkPrefix)
		}
	}
	return text
}

// TestDifferences covers the known behaviour of the library's client. If it follows the standard, there is no remark.
func TestDifferences(t *testing.T) {
	const plain = "data: {\"a\":1}\n\n"
	rows := []struct {
		reason string
		media  string
		body   string
		want   []string // in the remark, which is "" if there is none
	}{
		{reason: "a plain stream", body: plain + "event: agent_list\ndata: x\ndata: y\n\n" + plain},
		{reason: "an empty stream", body: ""},
		{reason: "every line end", body: "data: a\r\n\r\ndata: b\r\rdata: c\n\n"},
		{reason: "an event of 60000 bytes fits", body: "data: " + strings.Repeat("x", 60_000) + "\n\n"},
		{reason: "comments never reach the handler, and no event is lost by that",
			body: ": hello\n\n" + plain + ": ping\n\n:\ndata: b\n: within\n\n"},
		{reason: "a missing id repeats the last, as the standard has it", body: "id: 7\n" + plain + plain},
		{reason: "any content type is accepted, as by the codec; the record tells it", media: "text/plain", body: plain},
		{reason: "an id cannot be taken back", body: "id: 7\n" + plain + "id\n" + plain,
			want: []string{"- message \"{\\\"a\\\":1}\"", "+ message \"{\\\"a\\\":1}\" id \"7\""}},
		{reason: "an id with a NUL is invalid, and the library accepts it", body: "id: 7\x00\n" + plain,
			want: []string{`id "7\x00"`}},
		{reason: "a retry is delivered as an event", body: "retry: 1000\n\n" + plain, want: []string{"+ message \"\""}},
		{reason: "an id alone too", body: "id: 7\n\n", want: []string{"+ message \"\" id \"7\""}},
		{reason: "a type alone too", body: "event: ping\n\n", want: []string{"+ ping \"\""}},
		{reason: "a BOM loses the first event", body: "\ufeff" + plain + "data: b\n\n",
			want: []string{"- message \"{\\\"a\\\":1}\""}},
		{reason: "or its type, where that comes first", body: "\ufeffevent: ping\n" + plain,
			want: []string{"- ping ", "+ message "}},
		{reason: "an incomplete block at the end is dispatched", body: plain + "data: cut off",
			want: []string{"+ message \"cut off\""}},
		{reason: "also one whose line was ended", body: plain + "data: cut off\n",
			want: []string{"+ message \"cut off\""}},
		{reason: "data without a colon is dropped", body: "data\n\n" + plain, want: []string{"- message \"\""}},
		{reason: "and so is data without a value", body: "data:\n\n" + plain, want: []string{"- message \"\""}},
		{reason: "an event beyond its buffer ends it", body: "data: " + strings.Repeat("x", 1<<16) + "\n\n" + plain,
			want: []string{"gave up: bufio.Scanner: token too long", "- "}},
		{reason: "malformed UTF-8 goes through as it is", body: "data: a\xffb\n\n",
			want: []string{`+ message "a\xffb"`, `- message "a` + "\ufffd"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if r.media == "" {
				r.media = "text/event-stream"
			}
			d := New()
			defer d.Close()
			records := listenTo(t, d, stream(t, r.media, r.body))
			got := remark(t, records)
			if (got == "") != (r.want == nil) {
				t.Errorf("%q\nthe remark is: %q", r.body, got)
			}
			for _, w := range r.want {
				if !strings.Contains(got, w) {
					t.Errorf("%.200q\nthe remark has no %q:\n%s", r.body, w, got)
				}
			}
			if records[1].Type != r.media {
				t.Errorf("the record tells %q", records[1].Type)
			}
		})
	}
}

// TestTheVerdictIsTheCodecs: what the library misses is recorded anyway.
func TestTheVerdictIsTheCodecs(t *testing.T) {
	plain := sse.New()
	interop := New()
	defer plain.Close()
	defer interop.Close()
	if interop.Name() != Name {
		t.Errorf("the driver is called %q", interop.Name())
	}
	body := "\ufeffdata: a\n\nretry: 5\n\n: c\n\ndata\n\ndata: cut"
	url := stream(t, "text/event-stream", body)
	lines := func(records []transcript.Record) (out []string) {
		for _, r := range records {
			if r.Kind != transcript.Remark {
				out = append(out, fmt.Sprint(r.Kind, r.Label, r.Status, r.Type, string(r.Bytes)))
			}
		}
		return out
	}
	want, got := lines(listenTo(t, plain, url)), lines(listenTo(t, interop, url))
	if fmt.Sprint(want) != fmt.Sprint(got) {
		t.Errorf("sse records:\n%q\nr3labs records:\n%q", want, got)
	}
}

// TestRefusal: refusals and redirects are handled by the sse driver; the library, which would retry for 15 minutes,
// is not used.
func TestRefusal(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	d := New()
	defer d.Close()
	if _, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: srv.URL},
		transcript.New(nil).Append); err == nil {
		t.Error("a refusal was opened")
	}
}

// TestFlood: the comparison is bounded, and the stream continues.
func TestFlood(t *testing.T) {
	d := New()
	defer d.Close()
	const events = maxCompared + 5_000
	records := listenTo(t, d, stream(t, "text/event-stream", strings.Repeat("data: x\n\n", events)))
	if got := remark(t, records); got != "" {
		t.Errorf("the remark is %q", got)
	}
	n := 0
	for _, r := range records {
		if r.Kind == transcript.Stream {
			n++
		}
	}
	if n != events {
		t.Errorf("%d events are recorded, want %d", n, events)
	}
	records = listenTo(t, d, stream(t, "text/event-stream", "retry: 1\n\n"+strings.Repeat("data: x\n\n", events)))
	if got := remark(t, records); !strings.Contains(got, "+ message \"\"") {
		t.Errorf("a difference before the bound is lost: %q", got)
	}
}

// TestCloseInTheMiddle: the harness may close the connection at any time.
func TestCloseInTheMiddle(t *testing.T) {
	gone := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: a\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer srv.Close()
	d := New()
	defer d.Close()
	log := transcript.New(nil)
	c, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: srv.URL}, log.Append)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Await(t.Context(), 0,
		func(r *transcript.Record) bool { return r.Kind == transcript.Stream }); err != nil {
		t.Fatal(err)
	}
	_ = c.Close(driver.Reset)
	<-gone
	if got := remark(t, log.All()); got != "" {
		t.Errorf("the remark is %q", got)
	}
}

// TestTheLibrarysServer is a negative control: a stream of the library's own server reads the same on both sides, and
// our codec finds no fault.
func TestTheLibrarysServer(t *testing.T) {
	srv := lib.New()
	srv.AutoReplay, srv.SplitData = true, true // without SplitData a line end within data loses what follows it
	left := make(chan struct{})
	srv.OnUnsubscribe = func(string, *lib.Subscriber) { left <- struct{}{} }
	srv.CreateStream("s")
	ts := httptest.NewServer(srv)
	defer srv.Close()
	defer ts.Close()
	for i := range 3 {
		srv.Publish("s", &lib.Event{Event: []byte("agent_list"), Data: fmt.Appendf(nil, "{\"n\":%d}\nsecond line", i)})
	}
	for _, d := range []driver.Driver{sse.New(), New()} {
		log := transcript.New(nil)
		c, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: ts.URL + "?stream=s"}, log.Append)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = log.Await(t.Context(), 0, func(r *transcript.Record) bool {
			switch {
			case r.Kind == transcript.Stream && (r.Type != "agent_list" ||
				string(r.Bytes) != fmt.Sprintf("{\"n\":%d}\nsecond line", n)):
				t.Errorf("event %d is %s", n, r.Line(0))
			case r.Kind == transcript.Comment:
				t.Errorf("beside the events stands %s", r.Line(0))
			}
			if r.Kind == transcript.Stream {
				n++
			}
			return n == 3
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close(driver.Reset)
		<-left // the library leaks a goroutine if its server is closed before this
		if got := remark(t, log.All()); got != "" {
			t.Errorf("%s: the remark is %q", d.Name(), got)
		}
		_ = d.(io.Closer).Close()
	}
}
