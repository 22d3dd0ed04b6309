package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestGuard(t *testing.T) {
	var seen *http.Request
	h := guard("s3cret", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	for _, tt := range []struct {
		name, url, auth string
		method          string
		header          string
		want            int
	}{
		{name: "no token", url: "/events", want: 401},
		{name: "the token", url: "/events", auth: "Bearer s3cret", want: 200},
		{name: "any case of the scheme", url: "/events", auth: "bearer s3cret", want: 200},
		{name: "another token", url: "/events", auth: "Bearer s3cre", want: 401},
		{name: "another scheme", url: "/events", auth: "Basic s3cret", want: 401},
		{name: "in the query", url: "/events?a=1&token=s3cret", want: 200},
		{name: "another in the query", url: "/events?token=x", want: 401},
		{name: "empty in the query", url: "/events?token=", want: 401},
		{name: "a header counts before the query", url: "/events?token=s3cret", auth: "Bearer x", want: 401},
		{name: "preflight", url: "/message", method: "OPTIONS", header: "Access-Control-Request-Method", want: 200},
		{name: "OPTIONS alone", url: "/message", method: "OPTIONS", want: 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			r := httptest.NewRequest(tt.method, tt.url, nil)
			if tt.auth != "" {
				r.Header.Set("Authorization", tt.auth)
			}
			if tt.header != "" {
				r.Header.Set(tt.header, "POST")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.want || (seen != nil) != (tt.want == 200) {
				t.Fatalf("HTTP %d, want %d", w.Code, tt.want)
			}
			if seen != nil && (seen.URL.Query().Has("token") || seen.Header.Get("Authorization") != "") {
				t.Errorf("the token goes on: %v %v", seen.URL, seen.Header)
			}
		})
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.3.2.1": true, "::1": true, "localhost": true,
		"": false, "0.0.0.0": false, "::": false, "192.168.1.2": false, "example.org": false, "localhost.example.org": false,
	} {
		if got := loopback(host); got != want {
			t.Errorf("loopback(%q) = %v", host, got)
		}
	}
}
