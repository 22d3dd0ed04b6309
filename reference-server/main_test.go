package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, []string{"--addr", "127.0.0.1:0"}, in, io.Discard) }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get(strings.TrimSpace(url) + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"type":"connected"`) {
		t.Errorf("first line %q", lines.Text())
	}
	cancel() // an open stream must not hold the server up
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"--nonsense"}, {"--addr", "nowhere:x"}, {"--agents", t.TempDir()}} {
		if err := Run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
