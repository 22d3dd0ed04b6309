package probe

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/profiletest"
	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/visit"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver/browser/snapshot"
)

// TestRecognise checks that the likeliest sign identifies an element, and that no element has two keys.
func TestRecognise(t *testing.T) {
	at := func(n float64) snapshot.Rect { return snapshot.Rect{Left: n, Width: 1, Height: 1} }
	button := func(n float64, id, text string) snapshot.Control {
		return snapshot.Control{Found: true, Visible: true, Tag: "button", ID: id, Text: text, Rect: at(n)}
	}
	of := func(n float64, tag, id string) snapshot.Control {
		return snapshot.Control{Found: true, Visible: true, Tag: tag, ID: id, Rect: at(n)}
	}
	for _, tt := range []struct {
		reason string
		page   map[string]snapshot.Control // by key and hook
		want   map[string]string
	}{
		{"nothing", nil, map[string]string{}},
		{"the id of the default binding comes first", map[string]snapshot.Control{
			"connect #connectBtn": button(1, "connectBtn", "Go"), "connect text=连接": button(2, "other", "连接"),
		}, map[string]string{"connect": "#connectBtn"}},
		{"an exact text comes before a longer one", map[string]snapshot.Control{
			"connect text=连接": button(1, "a", "断开连接"), "connect text=Connect": button(2, "b", "Connect"),
		}, map[string]string{"connect": "#b"}},
		{"a longer text is better than none", map[string]snapshot.Control{
			"new-session text=New chat": button(1, "", "+ New chat"),
		}, map[string]string{"new-session": "text=New chat"}},
		{"an option is no button", map[string]snapshot.Control{"connect text=连接": of(1, "option", "x")}, map[string]string{}},
		{"a select element alone is the selector", map[string]snapshot.Control{
			"selector #mainAgentSelect": of(1, "div", "mainAgentSelect"), "selector select": of(2, "select", "who"),
		}, map[string]string{"selector": "#who"}},
		{"no element has two keys", map[string]snapshot.Control{
			"server-url input[type=url]": of(1, "input", "say"), "message input[id*=message i]": of(1, "input", "say"),
			"message textarea": {},
		}, map[string]string{"server-url": "#say"}},
		{"a generated id is not a hook", map[string]snapshot.Control{"message textarea": of(1, "textarea", ":r1:")},
			map[string]string{"message": "textarea"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := &inquiry{Session: probe.NewSession(nil, nil, nil)}
			p.recognise(snapshot.Page{Controls: tt.page})
			if diff := cmp.Diff(tt.want, p.hooks); diff != "" {
				t.Errorf("- want + got\n%s", diff)
			}
			for _, place := range likelyPlaces {
				if told := len(p.Seen[place.key]) + len(p.Seen["no "+place.key]); told != 1 {
					t.Errorf("%s is told %d times", place.key, told)
				}
			}
		})
	}
}

// TestLikelyPlaces checks that the search covers exactly the hooks that can be seen at the beginning.
func TestLikelyPlaces(t *testing.T) {
	count := map[string]int{}
	for _, place := range likelyPlaces {
		count[place.key]++
		if place.fits == nil || len(place.candidates()) < 2 || place.candidates()[0] == "" {
			t.Errorf("%s is looked for at %q", place.key, place.candidates())
		}
	}
	for _, key := range visit.Keys() {
		if count[key] != 1 {
			t.Errorf("%s is looked for %d times", key, count[key])
		}
		delete(count, key)
	}
	if len(count) > 0 {
		t.Errorf("these are no hooks: %v", count)
	}
}

// TestDraft checks that, for any page, the draft is a valid profile with the findings.
func TestDraft(t *testing.T) {
	nasty := "a\nurl: http://evil\x00\u2028"
	seen := map[string][]string{"connect": {nasty}, "no abort": {nasty}, "unseen": {nasty}, "requests": {nasty}}
	found := map[string]string{"connect": `text=a "b" # c`, "chat": "#chat [y='z']", "selector": "#who"}
	dir := t.TempDir()
	for _, change := range []func(*binding.Binding){
		func(a *binding.Binding) {},
		func(a *binding.Binding) { a.Folder = "dist: #1" },
		func(a *binding.Binding) { a.Folder, a.Page, a.File = "dist", "/a%20b.html?x=1#y", true },
	} {
		p, err := binding.Kind().ForURL("http://127.0.0.1:3000/base/?x=%231")
		if err != nil {
			t.Fatal(err)
		}
		change(binding.Of(p))
		if binding.Of(p).Folder != "" {
			p.URL = ""
		}
		session := probe.NewSession(nil, p, nil)
		session.Seen = seen
		text := draft(session, found)
		got, err := target.Kinds{binding.Kind()}.Parse([]byte(text), filepath.Join(dir, "draft.yaml"), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		h := &binding.Of(p).Hooks
		h.Connect, h.Chat, h.Selector = found["connect"], found["chat"], found["selector"]
		p.Capabilities, p.Path, p.Dir = []string{}, got.Path, got.Dir
		if diff := profiletest.Diff(p, got); diff != "" {
			t.Errorf("- found + read\n%s\n%s", diff, text)
		}
		if strings.Contains(text, "\n#command:") != (binding.Of(p).Folder == "") {
			t.Errorf("a command is hinted at, where the harness serves the page; or it is not\n%s", text)
		}
	}
}
