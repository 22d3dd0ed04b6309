// Package stub is the HTTP model stub: a small server that puts an llm.Brain behind the APIs that agents use for their
// models. Package llm documents the directives in the user's text.
//
//	POST /v1/chat/completions       OpenAI chat completions, streaming or not
//	POST /v1/responses              OpenAI responses, streaming or not
//	POST /v1/messages               Anthropic messages, streaming or not
//	POST /v1/messages/count_tokens  Anthropic token counting; not a model call, so not recorded
//	GET  /v1/models, /v1/models/{id}  OpenAI and Anthropic fields side by side; every id is valid
//
// The OpenAI paths and the model lists are also served without /v1. Any key is accepted, and headers are never
// recorded.
//
// A streamed answer starts with the brain's first output, so a failure before that has its HTTP status, and a later one
// is an error event of the API. Every event is flushed at once. An answer that is cut off, because the client has
// disconnected or the server closes, ends with a broken connection: it never looks complete.
//
// A body of more than MaxBody bytes gets 413, one that the API would reject gets 400, each in the API's error shape.
// Roles, models and messages are checked; fields, content parts and items that the brain does not use are ignored, and
// so are limits such as max_tokens. The server keeps no conversations: a previous_response_id gets 400.
//
// Token counts are estimates, four bytes each.
package stub
