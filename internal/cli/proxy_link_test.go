package cli

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/internal/certtest"
)

// TestProxyLink: the proxy shows its certificate and sends headers to the server, for a client that has neither, and
// keeps no secret. Without the certificate the server refuses it.
func TestProxyLink(t *testing.T) {
	files, err := certtest.Make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	behind, err := url.Parse(chatServer(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(requireToken("s3cret-s3cret", httputil.NewSingleHostReverseProxy(behind)))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the second proxy has no certificate
	srv.TLS = files.ServerTLS(true)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	t.Setenv("TOKEN", "s3cret-s3cret")
	flags := []string{"--protocol", "session-chat", "--target", srv.URL, "--ca", files.CA, "-H",
		"Authorization: Bearer @env:TOKEN"}

	out := t.TempDir()
	p := startProxy(t, append(flags, "--out", out, "--client-cert", files.Client, "--client-key", files.ClientKey)...)
	runChatTurn(t, http.DefaultClient, p.url())
	p.stop()
	if text, code := p.awaitEnd(); code != 0 {
		t.Errorf("exit %d:\n%s", code, text)
	}
	err = filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "s3cret") {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	bare := startProxy(t, append(flags, "--out", t.TempDir())...)
	if c, _, err := websocket.Dial(t.Context(), bare.url()+"/chat/ws", nil); err == nil {
		t.Error("the server has let in a proxy without a certificate")
		_ = c.CloseNow()
	}
	bare.stop()
	bare.awaitEnd()
}
