package model

import (
	"fmt"
	"strings"
)

// Assistant messages of a turn: their members besides the agent_id.
func assistant(message, text, stamp string) string {
	return fmt.Sprintf(`A < assistant {"agent_id":"red","session_id":"s-1","message":%s,"text":%q,"timestamp":%q}`+"\n",
		message, text, stamp)
}

func entire(text, stamp string) string {
	return assistant(fmt.Sprintf(`{"content":%q}`, text), text, stamp)
}

func numbered(id, text, stamp string) string {
	return assistant(fmt.Sprintf(`{"content":%q,"id":%q}`, text, id), text, stamp)
}

const (
	streamed = "A < stream red s-1: [[echo x-1]] \n"
	end      = "A < result red s-1: \n"
)

// copies are about messages that are forwarded twice.
var copies = []row{
	{subject: "said-once", reason: "one answer", kept: "SC-020", in: ask1 + streamed + entire("[[echo x-1]]", "t1") + end},
	{subject: "said-once", reason: "a copy", broken: "SC-020",
		in: ask1 + strings.Repeat(entire("[[echo x-1]]", "t1"), 2) + end},
	{subject: "said-once", reason: "a copy with another message between", broken: "SC-020",
		in: ask1 + entire("[[echo x-1]]", "t1") + "A < system red s-1: \n" + entire("[[echo x-1]]", "t1") + end},
	{subject: "said-once", reason: "a copy with a timestamp of its own, of what was streamed", broken: "SC-020",
		in: ask1 + streamed + entire("[[echo x-1]]", "t1") + entire("[[echo x-1]]", "t2") + end},
	{subject: "said-once", reason: "a single piece, and the whole", kept: "SC-020",
		in: ask1 + entire("[[echo x-1]]", "t1") + entire("[[echo x-1]]", "t2") + end},
	{subject: "said-once", reason: "two messages of the same text", kept: "SC-020",
		in: ask1 + streamed + numbered("1", "[[echo x-1]]", "t1") + numbered("2", "[[echo x-1]]", "t1") + end},
	{subject: "said-once", reason: "one of these twice", broken: "SC-020",
		in: ask1 + numbered("1", "[[echo x-1]]", "t1") + strings.Repeat(numbered("2", "[[echo x-1]]", "t1"), 2) + end},
	{subject: "said-once", reason: "the text so far, which did not grow at last", kept: "SC-020",
		in: ask1 + entire("[[echo", "t1") + strings.Repeat(entire("[[echo x-1]]", "t1"), 2) + end},
	{subject: "said-once", reason: "the text so far, which did not grow at first", kept: "SC-020",
		in: ask1 + strings.Repeat(entire("stream x-1 1/2", "t1"), 2) + entire("stream x-1 1/2 stream x-1 2/2", "t1") + end},
	{subject: "said-once", reason: "other words, which the model may have said twice", kept: "SC-020",
		in: ask1 + strings.Repeat(entire("Let me think.", "t1"), 2) + entire("[[echo x-1]]", "t1") + end},
	{subject: "said-once", reason: "the words of a chat that nobody sent", kept: "SC-020",
		in: ask1 + strings.Repeat(entire("[[echo y-1]]", "t1"), 2) + end},
	{subject: "said-once", reason: "the history of the session, before the answer to the next chat", kept: "SC-020",
		in: ask1 + entire("[[echo x-1]]", "t1") + end + ask2 + entire("[[echo x-1]]", "t1") +
			entire("[[echo x-2]]", "t2") + end},
	{subject: "said-once", reason: "again over the next connection", kept: "SC-020",
		in: "A open\n" + ask1 + entire("[[echo x-1]]", "t1") + "A closed\nA open\n" + entire("[[echo x-1]]", "t1")},
	{subject: "said-once", reason: "to two connections", kept: "SC-020",
		in: ask1 + entire("[[echo x-1]]", "t1") + strings.Replace(entire("[[echo x-1]]", "t1"), "A", "B", 1) + end},
	{subject: "said-once", reason: "pieces with the same text", kept: "SC-020",
		in: ask1 + streamed + streamed + end},
	{subject: "said-once", reason: "nothing"},
}
