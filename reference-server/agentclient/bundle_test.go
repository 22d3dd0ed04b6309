package agentclient

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func modules(pairs ...string) map[string][]byte {
	files := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = []byte(pairs[i+1])
	}
	return files
}

func TestBundle(t *testing.T) {
	got, err := bundle(modules(
		"app.js", "import { $, b } from \"./b.js\";\nimport { Late } from \"./c.js\";\nb(new Late(), $);\n",
		"b.js", "// B.\nimport { Late } from \"./c.js\";\nconst own = Late;\nexport const $ = own;\n"+
			"export async function b() {}\n",
		"c.js", "export class Late {}\n",
		"unused.js", "import x from 'y';\n",
	), "app.js")
	if err != nil {
		t.Fatal(err)
	}
	want := `const { Late } = (() => {
class Late {}
return { Late };
})();

const { $, b } = (() => {
// B.
const own = Late;
const $ = own;
async function b() {}
return { $, b };
})();

b(new Late(), $);
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestBundleRefuses(t *testing.T) {
	for want, files := range map[string]map[string][]byte{
		"app.js imports b.js, which is not there": modules("app.js", "import { b } from \"./b.js\";\n"),
		"app.js imports itself, by app.js, b.js": modules("app.js", "import { b } from \"./b.js\";\n", "b.js",
			"import { a } from \"./app.js\";\n"),
		`app.js says "import b from './b.js';"`: modules("app.js", "import b from './b.js';\n"),
		`app.js says "import { a as b } from`: modules("app.js", "import { a as b } from \"./b.js\";\n", "b.js",
			""),
		`b.js says "export let changing = 1;"`: modules("app.js", "import { b } from \"./b.js\";\n", "b.js",
			"export let changing = 1;\n"),
		`app.js says "import \"./b.js\"; // for effect`: modules("app.js", "import \"./b.js\"; // for effect\n", "b.js", ""),
	} {
		if script, err := bundle(files, "app.js"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v instead of %q\n%s", err, want, script)
		}
	}
}
