// Package sse decodes event streams, the text/event-stream format of the HTML
// Living Standard, sections 9.2.5 and 9.2.6.
//
// A [Decoder] takes bytes in chunks of any size and returns [Item] values: the
// contents of the stream, in order, including what an EventSource hides
// (comments, retry, a byte order mark, unknown fields, the raw bytes, and a
// block cut off by the end of the stream).
//
// # The algorithm
//
//  1. One byte order mark at the very start is dropped and reported as [BOM].
//     Any other is text.
//  2. LF, CR and CRLF end a line, and may be mixed. A CR ends its line at
//     once; an LF that follows, in this chunk or a later one, is part of the
//     same line end.
//  3. Malformed UTF-8 becomes U+FFFD, one for each maximal subpart, as in the
//     Encoding Standard. It never swallows a line end.
//  4. A line that starts with a colon is a comment, reported as [Comment] at
//     once, anywhere in a block.
//  5. Any other line is a field: the name is what precedes the first colon, or
//     the whole line; the value is the rest, without one leading space.
//     Names are compared exactly.
//     event sets the type. data appends a line. id sets the last event id,
//     unless the value holds a NUL. retry, if the value is ASCII digits only
//     and not empty, is reported as [Retry] at once, and takes effect even if
//     its block never ends. Other fields are kept in [Item.Fields] and have no
//     effect.
//  6. A blank line ends the block. The last event id is committed. If the
//     block had a data field it is reported as [Event], of type "message" if
//     the type is empty; a block without data is dropped. The type and the
//     data are reset; the last event id stays.
//  7. At the end of the stream a block that was not ended by a blank line is
//     not dispatched, and its id is not committed. If it had a field, or if
//     the last line was not ended, it is reported as [Incomplete].
//  8. A line or block beyond the [Limits] is reported as [Oversize] and dropped,
//     its id included. Everything up to the next blank line is skipped,
//     comments and retry too.
//
// The items depend only on the bytes, never on how they were cut into chunks;
// each is returned by the call that supplied the byte that completed it.
//
// The package does no I/O. A Decoder is for one stream and one goroutine.
package sse
