// Package gate is an HTTP and WebSocket intermediary between a program and its peer that works on messages. It listens,
// opens a connection to the upstream for each connection of a client, and shows every message to a [Handler], which
// passes, drops or replaces it, or answers instead of the peer. It knows no protocol.
//
// Unless a Handler intervenes, bytes pass unchanged: heads with the order and spelling of their fields, bodies with
// their chunks, frames with their fragments and masks, pings, close codes, events with their comments and line ends.
// The gate always makes these changes:
//
//   - Host becomes that of the upstream, whose path is prepended to that of the request; Options.Header is added.
//   - Accept-Encoding and Sec-WebSocket-Extensions are removed from requests, so that nothing is compressed.
//   - The gate itself answers Expect: 100-continue.
//   - The content of an event stream is unchanged, but it is divided into new chunks, and a stream with a
//     Content-Length becomes a chunked one.
//
// Origin passes unchecked. Only HTTP/1 is supported.
//
// A message is held back until it is complete and the Handler has decided; without a Handler, bytes pass as they come.
// A close or reset of one side is passed on to the other.
package gate
