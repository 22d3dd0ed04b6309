// Package llm is a scripted language model: the conversation brain behind the model stub (package stub) and behind the
// bundled servers, which call it in process.
//
// It obeys directives in the last user text of a request: the last non-empty text with role user. Later user texts
// without a directive are reminders added by the target, and left out, unless an answer in words precedes them. A
// directive is written in double brackets and carries a nonce, so that parallel scenarios can share one brain:
//
//	[[hold N]]             say "holding N", wait for Release(N) or the end of the context, say "released N"
//	[[hold N 2s]]          the same, released after that time by itself (at most MaxHold)
//	[[stream N n]]         say n parts (1 without n, at most MaxParts)
//	[[tool N name {json}]] ask for that tool call; once its result follows, say "tool N answered"
//	[[fail N 500]]         fail with that status (400 to 599, default 500)
//	[[echo N]]             say the user's text, unchanged
//	[[recall N]]           say the nonces of the earlier turns in this request, and their number: "a b (2)"
//
// The rules, in order:
//
//  1. A text without directives is answered by "ok".
//  2. Several directives in one text are carried out in order, each from the second on starting a new line. Directives
//     in lines before the last line with directives are left out if they carry another nonce: some targets join the
//     text of an aborted turn with that of the next one.
//  3. A tool directive ends the answer at its call. Every tool result after the user text, counted by call id, answers
//     one tool directive: the next request continues after the last one answered. The answer says so first, unless a
//     fail directive comes next, so that a failure after a result keeps its HTTP status.
//  4. A fail directive ends the answer. Parts before it have already been said.
//  5. An earlier turn is a user message before the last user text. Recall names each nonce once per turn, in order.
//  6. A malformed directive is text.
//
// The brain keeps no conversation: everything comes from the request itself. It records all requests as evidence,
// failed ones included; see Brain for the bounds.
package llm
