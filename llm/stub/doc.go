// Package stub is the HTTP model stub: one small server that puts an llm.Brain behind the APIs that agents speak to
// their models. Package model says which directives in the user's text make it do what.
//
//	POST /v1/chat/completions       OpenAI chat completions, streaming or not
//	POST /v1/responses              OpenAI responses, streaming or not
//	POST /v1/messages               Anthropic messages, streaming or not
//	POST /v1/messages/count_tokens  Anthropic token counting; not a call of the model, so not recorded
//	GET  /v1/models, /v1/models/{id}  the fields of OpenAI and of Anthropic side by side; every id is a model
//
// The OpenAI paths and the model lists are served without /v1 too. Whatever the client sends as its key is accepted,
// and no header is ever recorded.
//
// A streamed answer starts with the first thing that the brain says, so a failure before that has its HTTP status, and
// one after it is an error event of the API. Every event is flushed at once. An answer that is cut off, because the
// client has gone or the server closes, ends by breaking the connection: it never looks complete.
//
// A body of more than MaxBody bytes gets 413, one that the API would not take gets 400, each in the API's error shape.
// Roles, models and messages are checked; fields, content parts and items that the brain has no use for are ignored,
// and so are limits such as max_tokens. The server keeps no conversations: a previous_response_id gets 400.
//
// Token counts are estimates, four bytes each.
package stub
