package agentclient

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(h http.Handler, method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, "/", nil)
	r.URL.Path = path
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestFiles(t *testing.T) {
	p := New(Options{})
	for name, shipped := range Files() {
		res := get(p, http.MethodGet, "/"+name)
		if path.Ext(name) == ".js" { // part of the one script
			if name != entry && res.StatusCode != http.StatusNotFound {
				t.Errorf("%s: status %d", name, res.StatusCode)
			}
			continue
		}
		body := new(bytes.Buffer)
		_, _ = body.ReadFrom(res.Body)
		if res.StatusCode != http.StatusOK || !bytes.Equal(body.Bytes(), shipped) {
			t.Errorf("%s: status %d, %d bytes of %d", name, res.StatusCode, body.Len(), len(shipped))
		}
		if kind := res.Header.Get("Content-Type"); kind == "" || kind != kinds[path.Ext(name)] {
			t.Errorf("%s: type %q", name, kind)
		}
	}
	if res := get(p, http.MethodGet,
		"/"); res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != kinds[".html"] {
		t.Errorf("/: status %d, type %q", res.StatusCode, res.Header.Get("Content-Type"))
	}
}

// references matches what a file needs: sources and links of the page, imports of its scripts.
var references = regexp.MustCompile(`(?:\b(?:src|href)=|\bimport\s*\(?\s*|\bfrom\s+|\burl\(\s*)["']([^"'#][^"']*)["']`)

func TestReferencesExist(t *testing.T) {
	p := New(Options{})
	found := 0
	for name, body := range Files() {
		for _, m := range references.FindAllSubmatch(body, -1) {
			found++
			if path.Ext(name) == ".js" {
				continue // bundle finds the imports
			}
			if target := path.Join("/", string(m[1])); !p.Has(target) {
				t.Errorf("%s refers to %s, which is not served", name, target)
			}
		}
	}
	if found < len(Files())-1 {
		t.Errorf("only %d references found", found)
	}
}

// Every file but index.html is needed by another one.
func TestFilesAreReferred(t *testing.T) {
	referred := map[string]bool{index: true}
	for _, body := range Files() {
		for _, m := range references.FindAllSubmatch(body, -1) {
			referred[path.Base(string(m[1]))] = true
		}
	}
	for name := range Files() {
		if !referred[name] {
			t.Errorf("nothing refers to %s", name)
		}
	}
}

var (
	urls    = regexp.MustCompile(`(?:https?|wss?):` + `//[^\s"'` + "`" + `<>)]*`)
	allowed = regexp.MustCompile(`^http://(?:(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?(?:/|$)|www\.w3\.org/2000/svg$)`)
)

func TestNoOtherHost(t *testing.T) {
	for name, body := range Files() {
		for _, url := range urls.FindAllString(string(body), -1) {
			if !allowed.MatchString(url) {
				t.Errorf("%s names %s", name, url)
			}
		}
	}
}

// The policy forbids inline content, and browsers enforce it silently.
func TestNothingInline(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script[^>]*>\s*[^<\s]|javascript:|"style"|` +
		`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(`)
	for name, body := range Files() {
		if m := inline.Find(body); m != nil {
			t.Errorf("%s contains %q", name, m)
		}
	}
}

func TestHooks(t *testing.T) {
	html := string(Files()[index])
	for _, id := range []string{
		"serverUrl", "connectBtn", "disconnectBtn", "mainAgentSelect", "newSessionBtn", "messageInput", "sendBtn", "abortBtn",
		"chatBox", "eventLog", "sessionList",
	} {
		if n := strings.Count(html, ` id="`+id+`"`); n != 1 {
			t.Errorf("#%s stands there %d times", id, n)
		}
	}
	// agent-client.zh.md 3.2: the selector is right beside the button.
	if !regexp.MustCompile(`<select id="mainAgentSelect"[^>]*></select>\s*<button id="newSessionBtn"`).MatchString(html) {
		t.Error("the selector does not stand beside the button of new sessions")
	}
}

// The texts quoted in agent-client.zh.md.
func TestTexts(t *testing.T) {
	words := string(Files()["i18n.js"])
	for _, text := range []string{
		"请先连接服务器", "(未连接)", "(暂无可用主代理)", "暂无可用的主代理,请检查服务端配置", "未知/已失效 ({id})",
		"当前主代理已失效,请重新选择可用主代理", "已预选主代理: {name},新建会话时将自动使用该主代理",
		"主代理已切换: {from} → {to}", "主代理 ID 不能为空",
		"主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符",
		"当前会话有进行中的任务,请先终止对话后再切换主代理", "会话不存在,请先创建或加载会话",
	} {
		if !strings.Contains(words, `"`+text+`"`) {
			t.Errorf("no text %q", text)
		}
	}
}

// Both languages have the same texts with the same values in them.
func TestLanguages(t *testing.T) {
	words := string(Files()["i18n.js"])
	zh, rest, _ := strings.Cut(words, "\n};")
	en, _, _ := strings.Cut(rest, "\n};")
	entry := regexp.MustCompile(`(?:"([\w.]+)"|\b(\w+)): "((?:[^"\\]|\\.)*)"`)
	texts := func(block string) map[string]string {
		all := map[string]string{}
		for _, m := range entry.FindAllStringSubmatch(block, -1) {
			all[m[1]+m[2]] = m[3]
		}
		return all
	}
	value := regexp.MustCompile(`\{\w+\}`)
	chinese, english := texts(zh), texts(en)
	if len(chinese) < 50 || len(chinese) != len(english) {
		t.Errorf("%d Chinese and %d English texts", len(chinese), len(english))
	}
	for key, text := range chinese {
		if got, want := value.FindAllString(english[key], -1), value.FindAllString(text, -1); len(got) != len(want) {
			t.Errorf("%s: English has the values %v, Chinese %v", key, got, want)
		}
	}
}

// Every text that a script requests by a fixed key exists, and so do those of index.html.
func TestKeysExist(t *testing.T) {
	files := Files()
	words := string(files["i18n.js"])
	used := regexp.MustCompile(`(?:\bt\(|\bfailed\(|data-(?:text|label|hover|placeholder)=)"([\w.]+)"`)
	for name, body := range files {
		for _, m := range used.FindAllSubmatch(body, -1) {
			key := string(m[1])
			if !strings.Contains(words, `"`+key+`":`) && !regexp.MustCompile(`\b`+regexp.QuoteMeta(key)+`: `+
				`"`).MatchString(words) {
				t.Errorf("%s asks for the text %s", name, key)
			}
		}
	}
}

func TestPatch(t *testing.T) {
	patched := New(Options{Patch: func(name string, body []byte) []byte {
		if name != "agents.js" {
			return body
		}
		return append(body, "// patched"...)
	}})
	body := new(bytes.Buffer)
	res := get(patched, http.MethodGet, "/app.js")
	_, _ = body.ReadFrom(res.Body)
	if strings.Count(body.String(), "// patched") != 1 {
		t.Errorf("served %q", body)
	}
	shipped := New(Options{})
	for name := range Files() {
		if path.Ext(name) == ".js" && name != entry {
			continue
		}
		etag := func(p *Page) string { return get(p, http.MethodGet, "/"+name).Header.Get("ETag") }
		same := etag(patched) == etag(shipped)
		if same != (name != entry) {
			t.Errorf("%s: same is %v", name, same)
		}
	}
}

func TestHeaders(t *testing.T) {
	p := New(Options{})
	for _, path := range []string{"/", "/app.js", "/style.css", "/nothing"} {
		h := get(p, http.MethodGet, path).Header
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'self'") ||
			!strings.Contains(csp, "connect-src *") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" ||
			h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %v", path, h)
		}
	}
	etag := get(p, http.MethodGet, "/app.js").Header.Get("ETag")
	res := get(p, http.MethodGet, "/app.js", "If-None-Match", etag)
	if etag == "" || res.StatusCode != http.StatusNotModified {
		t.Errorf("ETag %q: status %d", etag, res.StatusCode)
	}
}

func TestMethods(t *testing.T) {
	p := New(Options{})
	for method, want := range map[string]int{
		http.MethodGet: http.StatusOK, http.MethodHead: http.StatusOK,
		http.MethodPost: http.StatusMethodNotAllowed, http.MethodPut: http.StatusMethodNotAllowed,
		http.MethodDelete: http.StatusMethodNotAllowed, http.MethodOptions: http.StatusMethodNotAllowed,
	} {
		res := get(p, method, "/app.js")
		if res.StatusCode != want {
			t.Errorf("%s: status %d, want %d", method, res.StatusCode, want)
		}
		if want != http.StatusOK && res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow %q", method, res.Header.Get("Allow"))
		}
	}
}

func TestHas(t *testing.T) {
	p := New(Options{})
	for path, want := range map[string]bool{
		"/": true, "/index.html": true, "/app.js": true, "/style.css": true,
		"": false, "app.js": false, "//app.js": false, "/page": false, "/page/": false, "/page/app.js": false,
		"/../page.go": false,
		"/page.go":    false, "/agents.js": false, "/app.js/": false, "/./app.js": false,
		"/events": false, "/message": false, "/session/create": false, "/session/list": false, "/health": false,
		"/agents/ws": false,
	} {
		if p.Has(path) != want {
			t.Errorf("Has(%q) = %v", path, !want)
		}
		if res := get(p, http.MethodGet, path); (res.StatusCode == http.StatusOK) != want {
			t.Errorf("GET %q: status %d", path, res.StatusCode)
		}
	}
}
