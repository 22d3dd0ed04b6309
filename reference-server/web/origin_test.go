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
		{"no Origin", nil, nil, true},
		{"a page of this machine", []string{"http://localhost:3000"}, nil, true},
		{"this machine by address", []string{"https://127.0.0.1"}, nil, true},
		{"this machine by IPv6 address", []string{"http://[::1]:80"}, nil, true},
		{"a page from elsewhere", []string{"https://example.org"}, nil, false},
		{"an allowed page", []string{"https://example.org"}, []string{"https://example.org"}, true},
		{"an allowed host with another port", []string{"https://example.org:8443"}, []string{"https://example.org"}, false},
		{"everybody", []string{"https://example.org"}, []string{"*"}, true},
		{"a page from a file", []string{"null"}, nil, false},
		{"an allowed page from a file", []string{"null"}, []string{"null"}, true},
		{"a name that begins like this machine's", []string{"http://localhost.example.org"}, nil, false},
		{"two Origins", []string{"http://localhost", "http://localhost"}, []string{"*"}, false},
		{"not a URL", []string{"http://[::1"}, nil, false},
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
