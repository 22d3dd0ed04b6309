package stub

import "net/http"

// ModelID is the first model in the list. Requests may name any other.
const ModelID = "parley-stub"

// modelIDs are the listed models: two, so that a client can change its model.
var modelIDs = []string{ModelID, ModelID + "-2"}

// modelInfo has the fields of OpenAI and those of Anthropic.
type modelInfo struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	Type        string `json:"type"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

type modelList struct {
	Object  string      `json:"object"`
	Data    []modelInfo `json:"data"`
	HasMore bool        `json:"has_more"`
	FirstID string      `json:"first_id"`
	LastID  string      `json:"last_id"`
}

func newModelInfo(id string) modelInfo {
	return modelInfo{
		ID: id, Object: "model", Created: 1767225600, OwnedBy: "parley",
		Type: "model", DisplayName: id, CreatedAt: "2026-01-01T00:00:00Z",
	}
}

func listModels(w http.ResponseWriter, _ *http.Request) {
	l := modelList{Object: "list", FirstID: modelIDs[0], LastID: modelIDs[len(modelIDs)-1]}
	for _, id := range modelIDs {
		l.Data = append(l.Data, newModelInfo(id))
	}
	writeJSON(w, http.StatusOK, l)
}

func showModel(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, newModelInfo(r.PathValue("id")))
}

type tokenCount struct {
	InputTokens int `json:"input_tokens"`
}

func countTokens(w http.ResponseWriter, r *http.Request) {
	if x, ok := read(w, r, messagesAPI); ok {
		writeJSON(w, http.StatusOK, tokenCount{inputTokens(x.request)})
	}
}
