// Package ws parses WebSocket frames (RFC 6455, section 5) from the bytes of one direction of a connection, after the
// opening handshake. It only observes: frames that a WebSocket library tolerates, hides or ends the connection for
// are reported as they were sent.
//
// A [Parser] takes bytes in chunks of any size and returns [Item] values: every complete frame, preceded by all its
// faults.
//
// # The algorithm
//
//  1. A header is checked as soon as it is complete, for: reserved bits (5.2), an undefined opcode (5.2), a masked
//     frame from a server or an unmasked one from a client (5.1), a length in more bytes than needed (5.2), a control
//     frame that is fragmented or longer than 125 bytes (5.5), a continuation without a message and a new message
//     inside a fragmented one (5.4), data after a close (5.5.1), a frame or a message beyond [Limits.MaxMessage].
//  2. A length with its highest bit set hides where the next frame starts. Its fault is the last item.
//  3. After any other fault the following frames are read as if there were none. A new message inside a fragmented one
//     replaces it.
//  4. The payload of a text message must be UTF-8 over all its fragments (5.6, 8.1). A violation is reported once per
//     message, at the byte that reveals it. A message with reserved bits may be compressed, so its text is not checked.
//  5. The payload of a close is empty, or a status code that may be sent (7.4) and a reason in UTF-8 (5.5.1).
//
// The items depend only on the bytes, never on how they were cut into chunks; each is returned by the call that
// supplied the byte that completed it.
//
// The package does no I/O. A Parser is for one stream and one goroutine, and holds less than one kept payload.
package ws
