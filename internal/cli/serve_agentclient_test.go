package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	pagewire "parley/steps/agentclient/binding"
	"parley/steps/agentclient/visit"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// testServedPage: a page opened in a browser with the token connects to the server beside it, and shows its agents.
func testServedPage(t *testing.T, _ tabs) {
	if _, err := browser.Find(""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	one := serving(t, "agent-client", "")
	o := serveOptions{addr: "127.0.0.1:0", token: "s3cret"}
	go func() { ended <- one.serveUntilDone(ctx, o, &streams{Out: stdout, Err: io.Discard}) }()
	lines := bufio.NewReader(out)
	url, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // it waits for whoever reads what it prints
	p, err := suite.Kinds().ForURL("agent-client", strings.TrimSpace(url)+"/?token=s3cret")
	if err != nil {
		t.Fatal(err)
	}
	pagewire.Of(p).Hooks.ServerURL = "" // the page is served from there
	d := browser.New(browser.Options{})
	defer d.Close()
	v, err := visit.Open(ctx, d, p, p.URL, visit.Hooks(pagewire.Of(p).Hooks))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	limited, stop := context.WithTimeout(ctx, visit.Patience)
	defer stop()
	if _, err := v.Transcript.Await(limited, 0, func(r *transcript.Record) bool {
		return r.Kind == transcript.Snapshot && bytes.Contains(r.Bytes, []byte(`"value":"debugger"`))
	}); err != nil {
		l, _ := v.Look(ctx)
		t.Errorf("no agents are shown: %v\n%s", err, l.Text)
	}
	cancel()
	err = <-ended
	_ = stdout.Close()
	if err != nil {
		t.Error(err)
	}
}
