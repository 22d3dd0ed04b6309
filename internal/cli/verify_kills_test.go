package cli

import (
	"os"
	"strings"
	"testing"

	"parley/target"
)

// TestVerifyKills: a certificate of a folder's protocol has the kill matrix that parley mutants makes of the folder,
// and whoever has the folder can make it again and compare it.
func TestVerifyKills(t *testing.T) {
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	t.Chdir(t.TempDir())
	do := func(want int, args ...string) string {
		t.Helper()
		suite, bundle = before, bundled
		var out strings.Builder
		code := runParley(args, &streams{In: strings.NewReader(""), Out: &out, Err: &out})
		if code != want {
			t.Fatalf("%q: exit %d: %s", args, code, out.String())
		}
		return out.String()
	}
	const of = "./auction-room"
	do(0, "new", "auction-room")
	do(0, "keygen")
	do(0, "mutants", "--protocol", of, "-o", "kills.json")
	server := bundle.For(suite.Kinds(), "auction-room", "")
	running, err := server.Launcher.Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Stop(t.Context()) //nolint:errcheck // of a test
	do(0, "run", "--protocol", of, "--target", running.BaseURL(), "--out", "out")
	do(0, "certify", "out/results.json", "--protocol", of, "--signing-key", "parley.key", "--kills", "kills.json")

	verify := []string{"verify", "out/certificate.json", "--protocol", of}
	if said := do(0, verify...); !strings.Contains(said, "this program has none of that suite") {
		t.Error(said)
	}
	do(0, "mutants", "--protocol", of, "-o", "again.json")
	if said := do(0, append(verify, "--kills", "again.json")...); !strings.Contains(said, "the one in again.json") {
		t.Error(said)
	}
	text, err := os.ReadFile("kills.json")
	if err != nil {
		t.Fatal(err)
	}
	fewer := strings.Replace(string(text), `"mutants": 7`, `"mutants": 8`, 1)
	if err := os.WriteFile("fewer.json", []byte(fewer), 0o600); err != nil || fewer == string(text) {
		t.Fatalf("%v: %s", err, text)
	}
	said := do(1, append(verify, "--kills", "fewer.json")...)
	if !strings.Contains(said, "it is not the one in fewer.json") {
		t.Error(said)
	}
	none := strings.Replace(string(text), `"auction-room"`, `"another-room"`, 1)
	if err := os.WriteFile("none.json", []byte(none), 0o600); err != nil {
		t.Fatal(err)
	}
	said = do(2, append(verify, "--kills", "none.json")...)
	if !strings.Contains(said, "none.json has no kill matrix of") {
		t.Error(said)
	}
}
