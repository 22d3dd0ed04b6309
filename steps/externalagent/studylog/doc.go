// Package studylog judges study logs: the JSONL files that a host writes (external-agent.zh.md, section 6). It is
// pure and reads a file of any length with bounded memory.
//
// # The algorithm
//
// Lines end in LF and follow the JSON Lines convention: UTF-8 without a byte order mark, and one JSON value per line,
// so an empty line is a fault. CRLF is tolerated and noted, because a CR is white space in JSON. The last line may
// lack its end. If it does and is only the start of an object, it is torn, as after a crash. A torn line is noted,
// and is a fault only if the session is known to have ended.
//
//  1. EA-085: each line is one JSON object in UTF-8 without duplicate keys. A line of more than 8 MiB, or nested deeper
//     than 1000, is noted and not judged, because no clause forbids it. A line that is not an object is not judged any
//     further.
//  2. EA-086: sessionId is a string. One file may hold several sessions. If one session is expected, the lines of
//     others are not judged, and lines without a session belong to it unless the file has other sessions. It must have
//     at least one line.
//  3. EA-087: eventIndex is a number. One that is not a 64-bit integer is noted. EA-088: it is greater than that of the
//     previous line of the same session, compared to the last digit. Gaps and any first value are allowed.
//  4. EA-089: timestamp is a non-empty text or a number. A form other than the source's example, an ISO 8601 date and
//     time in UTC with milliseconds and Z, is noted (EA-089a).
//  5. EA-090: direction is in, out or internal.
//  6. EA-091: direction is the host's view: in for what an agent sends, out for what a host sends. A message may be
//     logged more than once, as received and as passed on, so a line with the other direction is a fault only if no
//     line with the same type and payload has the right one. Without Messages, a host's message logged as in is
//     allowed too, because an agent may have sent it by mistake. Types of the relay and types unknown to the source
//     may have any direction, and any line may be internal. But without Messages, it is a fault if every line of a
//     type of section 4 is internal, because such a log shows no directions.
//  7. EA-092: type is a non-empty string.
//  8. EA-093: payload is an object and not a wrapper around the payload. A wrapper is the whole envelope, or an object
//     that lacks all members by which a payload of that type is known, while one of its members has all of them.
//
// Further fields are allowed. If the messages of the session are given:
//
//  9. EA-093: each message has a line of its type and direction with an equal payload: compared deeply, and numbers by
//     value. Equal messages need as many lines. A message without such a line is matched, in order, with the lines of
//     its type and direction that equal no message: its payload differs. An optional message is matched only if there
//     are as many lines as messages of that type and direction, and as many left over; otherwise it counts as not
//     logged. A line with a message's payload in one of its members is a wrapper, whatever the numbers.
//  10. EA-091: a message whose payload is logged, but only with other directions, has the wrong one. The same holds for
//     missing messages if every line of their type is internal, whatever the payloads.
//  11. EA-107: once the session has ended, the log has every message that is not optional. An exception is
//     session.ended, which may be in transit when the file is complete. If a part of the log was not judged, nothing
//     counts as missing.
//  12. EA-010: once the session has ended, the log has at least one of the messages that are not optional or, if there
//     are none of these, at least one event.
//
// A clause that was not reached has no finding: an empty file passes nothing.
package studylog
