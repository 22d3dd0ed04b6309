package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPageOwn: the page of a play offers messages of the played party first, and sends them as a stream or socket
// carries them, without the head of a request.
func TestPageOwn(t *testing.T) {
	base := pageServer(t).URL
	_, url := openPlay(t, base, nil)
	a := connectProgram(t, url)
	a.readUntilType("agent_list")
	v := visit(t, base, "en-US")
	v.wait("document.querySelectorAll('.row').length > 1")
	v.click("#compose-broken")
	v.wait(`document.querySelector('.sender .grow textarea').value === '{"data":"busy","type":"error"}'`)
	v.click("#compose-form")
	v.wait("document.querySelector('.schemaform pre').innerText === '{\"type\":\"error\"}'")
	v.js("document.querySelector('.schemaform .main').click()")
	a.readUntilType("error")
	v.js(`const kind = [...document.querySelectorAll('#composer select')].find((el) => el.value === "0");
		kind.value = "1"; kind.onchange?.(); kind.dispatchEvent(new Event("change"))`)
	v.wait("document.querySelector('.schemaform pre').innerText.startsWith('{\"type\":\"switch_agent\"')")
}

// TestPageLoading: until the first record is there the page says that it loads, not that there are none.
func TestPageLoading(t *testing.T) {
	page := pageServer(t)
	openTest(t, page.URL)
	open := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/sessions/1/events", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			page.Config.Handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	mux.Handle("/", page.Config.Handler)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	for language, want := range map[string]string{"en-US": "Loading…", "zh-CN": "正在加载…"} {
		v := visit(t, srv.URL, language)
		for _, at := range []string{".empty", "#counts"} {
			if got := v.value("document.querySelector('" + at + "').innerText"); strings.TrimSpace(got) != want {
				t.Errorf("%s before the records: %q, want %q", at, got, want)
			}
		}
	}
	close(open)
	v := visit(t, srv.URL, "en-US")
	v.wait("document.querySelectorAll('.row').length > 3")
	v.wait("/^\\d+ of \\d+ records$/.test(document.querySelector('#counts').innerText)")
}
