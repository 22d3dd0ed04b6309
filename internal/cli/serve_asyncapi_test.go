package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestAsyncAPIServed: every bundled server describes the messages of its protocol, at the address that was asked, and
// has nothing of its own at that path; without the token there is no document.
func TestAsyncAPIServed(t *testing.T) {
	found := 0
	for _, one := range offersOf(bundle...) {
		if one.role.Serve.NotServer != "" {
			continue
		}
		found++
		t.Run(one.protocol+" "+one.role.Name, func(t *testing.T) {
			for _, e := range one.role.Serve.Endpoints {
				if e.Path == asyncAPI.Path {
					t.Errorf("the server has an endpoint at %s", e.Path)
				}
			}
			url := served(t, one, serveOptions{token: "secret"})
			c := &http.Client{Transport: &http.Transport{}}
			defer c.CloseIdleConnections()
			if res, body := fetch(t, c, url+asyncAPI.Path, "*/*"); res.StatusCode != http.StatusUnauthorized {
				t.Errorf("without the token: %s\n%s", res.Status, body)
			}
			res, body := fetch(t, c, url+asyncAPI.Path+"?token=secret", "*/*")
			var doc struct {
				AsyncAPI string
				Info     struct{ Title string }
				Servers  map[string]struct{ Host, Protocol string }
			}
			err := json.Unmarshal([]byte(body), &doc)
			if err != nil || res.StatusCode != 200 || doc.AsyncAPI != "3.0.0" ||
				!strings.HasPrefix(doc.Info.Title, one.protocol+":") {
				t.Fatalf("%s, %v:\n%s", res.Status, err, body)
			}
			if at := doc.Servers["ws"]; at.Host != strings.TrimPrefix(url, "http://") || at.Protocol != "ws" {
				t.Errorf("it is at %v, and not at %s", at, url)
			}
		})
	}
	if found < 5 {
		t.Errorf("only %d servers", found)
	}
}
