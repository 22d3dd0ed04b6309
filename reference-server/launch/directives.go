package launch

import (
	"log/slog"

	"parley/internal/llm"
)

// Directives explains how a client commands the suite's model, for the help of `parley serve`.
const Directives = `A built-in fake model answers conversations. It obeys directives in the user's text,
in which N is any word:

  [[hold N]]          keep the turn running; only an abort or interrupt ends it
  [[hold N 2s]]       keep it running for this time
  [[stream N n]]      answer in n pieces
  [[tool N name {…}]] call a tool
  [[fail N 500]]      fail with this status
  [[echo N]]          answer with the user's text
  [[recall N]]        answer with the words N of the earlier turns

It answers any other text with "ok", and logs what only looks like a directive.`

// LogMalformed logs the parts of a user's text that look like directives but are not: the model answers them like any
// other text, with "ok".
func LogMalformed(log *slog.Logger, conn, text string) {
	for _, part := range llm.Malformed(text) {
		log.Warn("not a directive", "conn", conn, "text", part)
	}
}
