package runner

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"parley/steps/protocols"
	"parley/target"
	"parley/transport/transcript"
)

// TestSpeaksFirst: a server that sends data before any request is not an HTTP server, whether its bytes arrive before
// or after the request is written.
func TestSpeaksFirst(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // it closes when the client does
				_, _ = c.Write([]byte("220 mail.example ESMTP\r\n"))
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	early := func() error { // the transport reads while its new connection is delayed for a moment
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { time.Sleep(20 * time.Millisecond) }})
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+"/events", nil)
		_, err := client.Do(req)
		return err
	}
	fault := early()
	for n := 0; n < 50 && !strings.Contains(fault.Error(), unasked); n++ {
		fault = early()
	}
	res, late := client.Get("http://" + l.Addr().String() + "/events")
	if late == nil {
		_ = res.Body.Close()
		t.Fatal("it was taken for an HTTP response")
	}
	protocol, err := protocols.All.Find("agent-select")
	if err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]error{"early": fault, "late": late} {
		records := []transcript.Record{
			{N: 1, Dir: transcript.Sent, Kind: transcript.Open, Label: "GET /events"},
			{N: 2, Dir: transcript.Received, Kind: transcript.Failure, Label: fault.Error()},
		}
		got := explainAnswer(t.Context(), protocols.All, protocol, &target.Profile{}, "http://h", "sse", records)
		if !strings.HasPrefix(got, "the target at http://h is not an HTTP server: ") || strings.Contains(got, "%!") {
			t.Errorf("%s: %s", name, got)
		}
		if name == "early" && !strings.Contains(fault.Error(), unasked) {
			t.Errorf("net/http says this now: %v", fault)
		}
	}
}
