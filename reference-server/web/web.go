// Package web is the HTTP side of the bundled servers: which pages they let in, and how they answer in JSON.
package web

import (
	"net/http"

	"github.com/go-json-experiment/json"
)

// Admit reports whether a request may come, and refuses one of a page from elsewhere. A page that may come may read the
// answer.
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

// Answer writes an HTTP answer.
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

// Refuse answers why a request is not served.
func Refuse(w http.ResponseWriter, status int, reason string) {
	Answer(w, status, map[string]any{"success": false, "error": reason})
}

// Health answers that the server is there.
func Health(w http.ResponseWriter, _ *http.Request) {
	Answer(w, http.StatusOK, map[string]any{"status": "ok"})
}
