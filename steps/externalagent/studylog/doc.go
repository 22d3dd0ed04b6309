// Package studylog judges study logs: the JSONL files that a host writes (external-agent.zh.md, section 6). It is pure,
// and reads a file of any length with bounded memory.
//
// # The algorithm
//
// Lines end in LF. What a line is follows the JSON Lines convention: UTF-8 without a byte order mark, one JSON value on
// each, so that an empty line is a fault; CRLF is tolerated, because a CR is white space of JSON, and noted; the last
// line may lack its end. A line that lacks it and is the start of an object is torn: a crash leaves such. It is noted,
// and a fault only where the session is known to have ended.
//
//  1. EA-085: each line is one JSON object, in UTF-8, and no key stands twice in it. A line of more than 8 MiB, or
//     nested deeper than 1000, is noted and not judged: no clause forbids it. What is no object is not judged any
//     further.
//  2. EA-086: sessionId is a string. One file may hold several sessions: where one is expected, the lines of others
//     are not judged, and those that name none are its own as long as there are no others. It has at least one line.
//  3. EA-087: eventIndex is a number. One that is no integer of 64 bits is noted. EA-088: it is greater than that of
//     the line of the same session before, to its last digit. Gaps are fine, and so is whatever it starts with.
//  4. EA-089: timestamp is a text that is not empty, or a number. A form other than the source's example, which is a
//     date and time of ISO 8601 in UTC, with milliseconds and Z, is noted (EA-089a).
//  5. EA-090: direction is in, out or internal.
//  6. EA-091: direction is the host's view. What an agent sends is logged as in, what a host sends as out. A message
//     may be logged more than once, as it was received and as it was sent on, so a line with the other direction is
//     a fault only if no line with the same type and payload has the right one. Without Messages, what a host sends
//     and is logged as in is free too: an agent may have sent it by mistake. The types of the relay, and types that
//     the source does not know, are free. So are lines with direction internal; but without Messages a log in which
//     every line of a type of section 4 is internal tells no direction of anything, which is a fault.
//  7. EA-092: type is a string that is not empty.
//  8. EA-093: payload is an object, and no wrapper around the payload: neither the whole envelope, nor an object in
//     one of whose members stands all by which a payload of that type is known, and nothing of it where it is due.
//
// Fields beyond the six are fine. Where the messages of the session are given:
//
//  9. EA-093: each of them has a line of its type and direction whose payload equals its own: deeply, numbers by
//     their value. Equal messages need as many lines. A message without such a line is held against the lines of its
//     type and direction that equal no message, in order: that is a payload that differs. An optional message is so
//     only where there are as many lines as messages of that type and direction, and as many left over: else it is
//     taken for one that was not logged. A line whose payload has that of a message in one of its members is a
//     wrapper around it, whatever the numbers.
//  10. EA-091: a message whose payload stands in the log, and only with other directions, has the wrong one. So have
//     messages that are missing, if every line of their type is internal, whatever the payloads.
//  11. EA-107: once the session has ended, the log has each of them that is not optional. The message that tells of
//     the end, session.ended, is excused: it may have been on its way while the file was complete. Nothing is
//     missing of a log of which a part was not judged.
//  12. EA-010: once the session has ended, the log has any of those that are not optional; or, where there are none,
//     any event.
//
// A clause that was not reached has no finding: an empty file passes nothing.
package studylog
