package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"parley/driver/browser"
	"parley/target"
	"parley/transcript"
)

// TestServedPage: in a browser, a page that was opened with the token connects to the server beside it, and shows its agents.
func TestServedPage(t *testing.T) {
	if _, err := browser.Find(""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	o := serveOptions{protocol: "agent-client", addr: "127.0.0.1:0", token: "s3cret"}
	go func() { ended <- serve(ctx, o, &streams{Out: stdout, Err: io.Discard}) }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p, err := target.ForURLOf("agent-client", strings.TrimSpace(url)+"/?token=s3cret")
	if err != nil {
		t.Fatal(err)
	}
	p.AgentClient.Hooks.ServerURL = "" // what stands there is where the page comes from
	d := browser.New(browser.Options{})
	defer d.Close()
	v, err := openVisit(ctx, d, p, p.URL, hooksOf(p.AgentClient.Hooks))
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	if err := v.connect(ctx); err != nil {
		t.Fatal(err)
	}
	limited, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if _, err := v.t.Await(limited, 0, func(r *transcript.Record) bool {
		return r.Kind == transcript.Look && bytes.Contains(r.Bytes, []byte(`"value":"debugger"`))
	}); err != nil {
		l, _ := v.look(ctx)
		t.Errorf("no agents are shown: %v\n%s", err, l.Text)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
