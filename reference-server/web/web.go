// Package web is the HTTP side of the bundled servers: which pages they admit, and JSON responses.
package web

import (
	"net/http"

	"github.com/go-json-experiment/json"
)

// Admit reports whether a request is allowed, and refuses requests from pages of other origins. An admitted page may
// read the response.
func Admit(w http.ResponseWriter, r *http.Request, allow []string) bool {
	from, ok := Origin(r, allow)
	if !ok {
		Refuse(w, http.StatusForbidden, "origin not allowed")
		return false
	}
	if from != "" {
		w.Header().Set("Access-Control-Allow-Origin", from)
		w.Header().Set("Vary", "Origin")
	}
	return true
}

// Answer writes a JSON response.
func Answer(w http.ResponseWriter, status int, body map[string]any) {
	data, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"success":false}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// Refuse responds with the reason why a request is not served.
func Refuse(w http.ResponseWriter, status int, reason string) {
	Answer(w, status, map[string]any{"success": false, "error": reason})
}

// Health responds that the server is running.
func Health(w http.ResponseWriter, _ *http.Request) {
	Answer(w, http.StatusOK, map[string]any{"status": "ok"})
}
