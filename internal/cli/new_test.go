package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"parley/features/verdict"
)

// TestNew: a new folder is a protocol whose server conforms and whose mutants are all found; nothing is overwritten.
func TestNew(t *testing.T) {
	before, bundled := suite, bundle
	t.Cleanup(func() { suite, bundle, folders = before, bundled, map[string]string{} })
	described, err := filepath.Abs("../../docs/asyncapi/agent-select.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"new", "auction-room"}, 0, "next: parley run --protocol ./auction-room"},
		{[]string{"run", "--protocol", "./auction-room"}, 0, "CONFORMANT"},
		{[]string{"mutants", "--protocol", "./auction-room"}, 0, "7 mutants, 7 killed; 7 clauses proved, 0 unproved"},
		{[]string{"explain", "--protocol", "./auction-room", "AR-003"}, 0, "ping is answered by pong"},
		{[]string{"explain", "--protocol", "./auction-room", "--asyncapi"}, 0, `"asyncapi": "3.0.0"`},
		{[]string{"explain", "--asyncapi"}, verdict.ExitUsage, "of which protocol?"},
		{[]string{"new", "again", "--from", described}, 0, "run --protocol ./again --target URL"},
		{[]string{"list", "--protocol", "./again"}, 0, "session_created has the form of"},
		{[]string{"new", "again2", "--from", "none.yaml"}, verdict.ExitUsage, "none.yaml"},
		{[]string{"new", "again2", "--from", "none.jsonl"}, verdict.ExitUsage, "none.jsonl"},
		{[]string{"new", "auction-room"}, verdict.ExitUsage, "is not empty"},
		{[]string{"new", "Auction"}, verdict.ExitUsage, `"Auction" is not an id`},
		{[]string{"new"}, verdict.ExitUsage, "give one folder"},
		{[]string{"new", filepath.Join("deep", "x")}, 0, "--protocol deep/x"},
		{[]string{"run", "--protocol", "deep/x", "--tags", "@XP-003"}, verdict.ExitIncomplete, "XP-003 passed"},
	} {
		suite, bundle = before, bundled
		var out, errs bytes.Buffer
		code := runParley(c.args, &streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != c.code || !strings.Contains(out.String()+errs.String(), c.want) {
			t.Errorf("%q: exit %d: %s%s\nwant %d: … %s", c.args, code, out.String(), errs.String(), c.code, c.want)
		}
	}
}
