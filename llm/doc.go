// Package llm is a language model that does as it is told: the conversation brain behind the model stub (package stub)
// and behind the bundled servers, which ask it in process.
//
// It obeys directives in the last user text of a request, which is the text of the last message with role user and
// non-empty text; where others follow that have no directive, and no answer in words stands between, they are reminders
// of the target's own and left out. A directive stands in double brackets and carries a nonce, so that scenarios that
// run in parallel share one brain:
//
//	[[hold N]]             say "holding N", wait for Release(N) or the end of the context, say "released N"
//	[[stream N n]]         say n parts (1 without n, at most MaxParts)
//	[[tool N name {json}]] ask for that tool call; once its result follows, say "tool N answered"
//	[[fail N 500]]         fail with that status (500 without one, 400 to 599)
//	[[echo N]]             say the user's text, unchanged
//	[[recall N]]           say the nonces of the earlier turns in this request, and in parentheses how many: "a b (2)"
//
// The rules, in order:
//
//  1. A text without directives is answered by "ok".
//  2. Several directives in one text are carried out in order. The first part of each but the first starts a new line. Those
//     in lines before the last one with directives are left out if they bear another nonce: some targets join the text of a
//     turn that was broken off with that of the turn behind it.
//  3. A tool directive ends the answer at its call. Every tool result after the user text, counted by the id of the call
//     that it answers, stands for one tool directive: the next request goes on behind the last one answered. It says so
//     first, unless a fail directive comes next, so that a failure behind a result keeps its HTTP status.
//  4. A fail directive ends the answer. Parts that came before it have been said.
//  5. An earlier turn is a user message before the last user text. Recall names each nonce once per turn, in order.
//  6. What is no well-formed directive is text.
//
// The brain keeps no conversation: everything comes from the request itself. It keeps a record of the requests as
// evidence, whether they failed or not; see Brain for its bounds.
package llm
