package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/transport/recording"
)

// TestProxyRecord: what passes is in the file while the proxy runs, and can be replayed against a server; a file that
// is there is kept.
func TestProxyRecord(t *testing.T) {
	server, dir := chatServer(t, ""), t.TempDir()
	file := filepath.Join(dir, "passed.jsonl")
	args := []string{"--protocol", "session-chat", "--target", server, "--out", dir, "--record", file}
	p := startProxy(t, args...)
	runChatTurn(t, quickClient(t), p.url())
	p.stop()
	if text, code := p.awaitEnd(); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, text, p.stderrText())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Read(bytes.NewReader(text))
	if err != nil || rec.Torn || rec.Header.Protocol != "session-chat" || rec.Header.URL != server ||
		!rec.Header.Redacted ||
		len(rec.Records) < 4 || !bytes.Contains(text, []byte(`\"content\":\"hi\"`)) {
		t.Errorf("%v %+v\n%s", err, rec.Header, text)
	}
	var out, said strings.Builder
	s := &streams{In: strings.NewReader(""), Out: &out, Err: &said}
	root := rootCommand(s)
	root.SetArgs([]string{"replay", file, "--target", chatServer(t, "")})
	if code := s.exitWith(root.ExecuteContext(t.Context())); code != 0 {
		t.Errorf("its replay: exit %d\n%s%s", code, &out, &said)
	}
	out.Reset()
	root.SetArgs([]string{"scenario", file, "--target", chatServer(t, "")})
	if code := s.exitWith(root.ExecuteContext(t.Context())); code != 0 ||
		!strings.Contains(out.String(), " chats with ") ||
		!strings.Contains(said.String(), "run once: no clause fails") {
		t.Errorf("its scenario: exit %d\n%s%s", code, &out, &said)
	}
	again := startProxy(t, args...)
	if _, code := again.awaitEnd(); code != 2 ||
		!strings.Contains(again.stderrText(), "--record: "+file+" exists (name another file)") {
		t.Errorf("a file that is there: exit %d %s", code, again.stderrText())
	}
	if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, text) {
		t.Errorf("it is not kept: %v", err)
	}
}

// TestProxySecrets: the credentials in the addresses of the server and of requests are written nowhere.
func TestProxySecrets(t *testing.T) {
	server, dir := chatServer(t, ""), t.TempDir()
	file, secret := filepath.Join(dir, "passed.jsonl"), "hunter2pass"
	p := startProxy(t, "--protocol", "session-chat", "--target",
		strings.Replace(server, "//", "//user:"+secret+"@", 1)+"?api_key="+secret, "--out", dir, "--record", file)
	url := p.url()
	runChatTurn(t, quickClient(t), url)
	resp, err := quickClient(t).Get(url + "/nowhere?access_token=" + secret)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	p.stop()
	text, code := p.awaitEnd()
	if code != 0 || strings.Contains(text+p.stderrText(), secret) {
		t.Errorf("exit %d\n%s\n%s", code, text, p.stderrText())
	}
	found := 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s has it", path)
		}
		if bytes.Contains(b, []byte("«redacted»@127.0.0.1")) {
			found++
		}
		return err
	})
	if err != nil || found < 3 {
		t.Errorf("%d files name the server: %v", found, err)
	}
}
