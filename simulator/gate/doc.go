// Package gate is what stands between a program and its peer: an HTTP and WebSocket intermediary that knows messages.
// It listens, opens a connection to the upstream for each connection of a client, and shows every message to a
// [Handler], which lets it pass, drops or replaces it, or answers in the peer's place. It knows no protocol.
//
// Where nobody intervenes, bytes pass as they are: heads with the order and spelling of their fields, bodies with
// their chunks, frames with their fragments and masks, pings, close codes, events with their comments and line ends.
// What the gate changes in any case:
//
//   - Host becomes that of the upstream, whose path is put before that of the request; Options.Header is added.
//   - Accept-Encoding and Sec-WebSocket-Extensions are removed from requests, so that nothing is compressed.
//   - The gate itself answers Expect: 100-continue.
//   - The content of an event stream is unchanged, but its chunks are made anew, and a stream with a Content-Length
//     becomes a chunked one.
//
// Origin passes, and is not checked. Only HTTP/1 is spoken.
//
// A message is held back until it is whole and the Handler has decided; without a Handler, bytes pass as they come. A
// close or reset of one side is passed on to the other.
package gate
