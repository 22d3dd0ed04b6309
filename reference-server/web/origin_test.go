package web

import (
	"net/http"
	"testing"
)

func TestOrigin(t *testing.T) {
	for _, row := range []struct {
		reason  string
		origins []string
		allow   []string
		ok      bool
	}{
		{"no browser", nil, nil, true},
		{"a page of this machine", []string{"http://localhost:3000"}, nil, true},
		{"by its address", []string{"https://127.0.0.1"}, nil, true},
		{"of version 6 too", []string{"http://[::1]:80"}, nil, true},
		{"a page from elsewhere", []string{"https://example.org"}, nil, false},
		{"one that is allowed", []string{"https://example.org"}, []string{"https://example.org"}, true},
		{"another one", []string{"https://example.org:8443"}, []string{"https://example.org"}, false},
		{"everybody", []string{"https://example.org"}, []string{"*"}, true},
		{"a page from a file", []string{"null"}, nil, false},
		{"that is allowed", []string{"null"}, []string{"null"}, true},
		{"a name that begins like this machine's", []string{"http://localhost.example.org"}, nil, false},
		{"two at once", []string{"http://localhost", "http://localhost"}, []string{"*"}, false},
		{"no URL", []string{"http://[::1"}, nil, false},
		{"nothing", []string{""}, nil, false},
	} {
		r := &http.Request{Header: http.Header{}}
		if row.origins != nil {
			r.Header["Origin"] = row.origins
		}
		if _, ok := Origin(r, row.allow); ok != row.ok {
			t.Errorf("%s: %v", row.reason, ok)
		}
	}
}
