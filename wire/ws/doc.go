// Package ws reads WebSocket frames (RFC 6455, section 5) off the bytes of one direction of a connection, after the
// opening handshake. It listens and never answers: what a WebSocket library tolerates, hides or ends the connection for
// is told here as it was sent.
//
// A [Parser] takes bytes in chunks of any size and returns [Item] values: every frame that has arrived whole, and
// before it every fault that it has.
//
// # The algorithm
//
//  1. A header is judged as soon as it is whole: reserved bits (5.2), an opcode that is not defined (5.2), a masked frame
//     of a server or a bare one of a client (5.1), a length in more bytes than it needs (5.2), a control frame that is
//     fragmented or longer than 125 bytes (5.5), a continuation of nothing and a new message inside a fragmented one
//     (5.4), data after a close (5.5.1), a frame or a message beyond [Limits.MaxMessage].
//  2. A length with its highest bit set says nothing about where the next frame starts. It is the last item.
//  3. After any other fault the frames that follow are read as if it were none. A new message inside a fragmented one takes
//     its place.
//  4. The payload of a text message must be UTF-8 over all its fragments (5.6, 8.1). It is told once a message, at the byte
//     that settles it. A message with reserved bits may be compressed, and its text is not judged.
//  5. The payload of a close is empty, or a status code that may be sent (7.4) and a reason that is UTF-8 (5.5.1).
//
// The items depend on the bytes alone and never on how they were cut into chunks; each is returned by the call that
// supplied the byte that settled it.
//
// The package does no I/O. A Parser is for one stream and one goroutine, and holds less than one kept payload.
package ws
