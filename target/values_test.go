package target

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPointer(t *testing.T) {
	doc := map[string]any{"a": map[string]any{"b/c": []any{1, nil, 3}, "": "empty"}, "~": "tilde", "s": "x"}
	for _, tt := range []struct {
		reason, pointer string
		want            any
		there           bool
	}{
		{"a bare name is a member", "s", "x", true},
		{"the whole document", "", doc, true},
		{"an escaped slash and an index", "/a/b~1c/2", 3, true},
		{"null is there", "/a/b~1c/1", nil, true},
		{"an escaped tilde", "/~0", "tilde", true},
		{"the member of the empty name", "/a/", "empty", true},
		{"a member that is not there", "/x", nil, false},
		{"an index beyond the end", "/a/b~1c/3", nil, false},
		{"an index with a zero before it", "/a/b~1c/00", nil, false},
		{"a sign is no index", "/a/b~1c/+1", nil, false},
		{"the element after the last", "/a/b~1c/-", nil, false},
		{"text has no members", "/s/x", nil, false},
	} {
		p, err := ParsePointer(tt.pointer)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		got, there := p.Get(doc)
		if diff := cmp.Diff(tt.want, got); diff != "" || there != tt.there {
			t.Errorf("%s: there is %v (-want +got):\n%s", tt.reason, there, diff)
		}
	}
}

func TestPointerPut(t *testing.T) {
	doc := map[string]any{"s": "x"}
	for _, p := range []Pointer{"/a", "/b/c~1d", "/b/e", "/s/t"} {
		p.Put(doc, string(p))
	}
	want := map[string]any{"a": "/a", "b": map[string]any{"c/d": "/b/c~1d", "e": "/b/e"}, "s": map[string]any{"t": "/s/t"}}
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPointerSet: whatever Put would replace is an error, and doc stays unchanged.
func TestPointerSet(t *testing.T) {
	type object = map[string]any
	for _, tt := range []struct {
		reason  string
		pointer Pointer
		want    object
		err     string
	}{
		{"a new member", "/a", object{"s": "x", "n": nil, "o": object{"i": 0}, "a": 1}, ""},
		{"a member that is there", "/s", object{"s": 1, "n": nil, "o": object{"i": 0}}, ""},
		{"objects on the way", "/b/c~1d", object{"s": "x", "n": nil, "o": object{"i": 0}, "b": object{"c/d": 1}}, ""},
		{"an object that is there", "/o/p", object{"s": "x", "n": nil, "o": object{"i": 0, "p": 1}}, ""},
		{"null on the way", "/n/p", object{"s": "x", "n": object{"p": 1}, "o": object{"i": 0}}, ""},
		{"text on the way", "/s/t/u", object{"s": "x", "n": nil, "o": object{"i": 0}}, `field /s/t/u: "s" is not an object`},
		{"the whole document", "", object{"s": "x", "n": nil, "o": object{"i": 0}}, `the whole document is not a field`},
	} {
		doc := object{"s": "x", "n": nil, "o": object{"i": 0}}
		said := ""
		if err := tt.pointer.Set(doc, 1); err != nil {
			said = err.Error()
		}
		if diff := cmp.Diff(tt.want, doc); diff != "" || said != tt.err {
			t.Errorf("%s: error %q, want %q (-want +got):\n%s", tt.reason, said, tt.err, diff)
		}
	}
}

func TestParallel(t *testing.T) {
	for _, tt := range []struct {
		reason string
		change func(*Profile)
		want   int
	}{
		{"nothing said", func(*Profile) {}, DefaultConcurrency},
		{"a number", func(p *Profile) { p.Concurrency = 3 }, 3},
		{"indistinguishable connections", func(p *Profile) { p.Concurrency = 3; toySectionOf(p).Single = true }, 1},
	} {
		p := toys.New("listening")
		tt.change(p)
		if got := p.Parallel(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.reason, got, tt.want)
		}
	}
}

func TestUsesModel(t *testing.T) {
	for _, tt := range []struct {
		reason string
		p      *Profile
		want   bool
	}{
		{"no way to announce the stub", toys.New("listening"), false},
		{"a model block", &Profile{Model: &Model{}}, true},
		{"an argument", &Profile{Command: &Command{Run: []string{"x", "--model={model}"}}}, true},
		{"the environment", &Profile{Command: &Command{Env: map[string]string{"A": "{model}"}}}, true},
		{"a command without it", &Profile{Command: &Command{Run: []string{"x"}}}, false},
	} {
		if got := tt.p.UsesModel(); got != tt.want {
			t.Errorf("%s: %v", tt.reason, got)
		}
	}
}

// TestOutput: however the bytes arrive, their end is kept and lines are found.
func TestOutput(t *testing.T) {
	long := strings.Repeat("0123456789", keptOutput/4) + "end"
	for _, tt := range []struct {
		reason, text, watch string
		matches             int
	}{
		{"nothing", "", "x", 0},
		{"a short text", "a\nready now\nb\n", "^ready", 1},
		{"a line that has no end", "a\nready", "^ready$", 1},
		{"the first of two", "ready\nready\n", "ready", 1},
		{"not over a line's end", "re\nady\n", "ready", 0},
		{"more than is kept", long, "", 1},
		{"exactly what is kept", strings.Repeat("x", keptOutput), "y", 0},
		{"a line beyond what is looked at, then one to find", long + "\nready\n", "^ready", 1},
	} {
		for _, chunk := range []int{1, 2, 1000, len(tt.text) + 1} {
			matches := 0
			var tee bytes.Buffer
			o := &output{tee: &tee}
			o.expectLine(regexp.MustCompile(tt.watch), func() { matches++ })
			if chunk < 1000 && len(tt.text) > 2*keptOutput {
				o.expectLine(nil, nil) // slow byte by byte, and shows nothing new
				matches = tt.matches
			}
			for rest := []byte(tt.text); len(rest) > 0; {
				n := min(chunk, len(rest))
				o.writeChunk(rest[:n])
				rest = rest[n:]
			}
			if tt.text == "" {
				o.writeChunk(nil)
			}
			if got, want := o.String(), tt.text[max(0, len(tt.text)-keptOutput):]; got != want {
				t.Errorf("%s, by %d: kept %d bytes, not the last %d", tt.reason, chunk, len(got), len(want))
			}
			if matches != tt.matches || tee.String() != tt.text {
				t.Errorf("%s, by %d: %d matches, want %d; %d bytes handed on", tt.reason, chunk, matches, tt.matches, tee.Len())
			}
		}
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"open", "event", "session-id"}
	for _, tt := range []struct{ reason, word, want string }{
		{"one letter missing", "evnt", `did you mean "event"?`},
		{"neighbours swapped", "oepn", `did you mean "open"?`},
		{"capitals and the wrong dash", "Session_ID", `did you mean "session-id"?`},
		{"nothing like it", "zzz", "known here: event, open, session-id"},
		{"nothing", "", "known here: event, open, session-id"},
	} {
		if got := suggestWord(tt.word, known); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}

// FuzzParsePointer: a text is a pointer, a name that becomes one, or refused; what it points to is found without end.
func FuzzParsePointer(f *testing.F) {
	for _, text := range []string{"", "/a/b", "/a~1b/~0/0", "a", "/~2", "//"} {
		f.Add(text)
	}
	doc := map[string]any{"a": map[string]any{"b": []any{"c"}}, "": []any{map[string]any{"/": 1}}}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePointer(text)
		if err != nil {
			return
		}
		if string(p) != text && string(p) != "/"+text {
			t.Errorf("%q becomes %q", text, p)
		}
		_, _ = p.Get(doc)
	})
}
