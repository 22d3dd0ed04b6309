// Package bench measures what the suites cost: the time of each scenario against a bundled target, beside the floor,
// which is the time of the bare round trips that the same scenarios need.
//
// The floor is measured on the same machine, right after the suite. A run says in its transcripts which connections
// each scenario opens, and what is sent and received on them, with sizes. That is a course. A client and a server that
// know the transport alone go through the same courses, as many side by side as the suite does: the client writes as
// many messages of the same sizes, and waits for as many. Nothing is decoded, recorded or judged, no model answers, and
// nothing waits for time to pass.
//
//	driver        floor
//	ws            WebSocket connections, opened and closed by handshakes
//	sse, r3labs   one held HTTP answer for each stream, and a request for each request
//	stdio         lines through two pipes for each connection; no process is started
//	browser       an empty page for each page, in a browser of its own; nothing is done in it
//
// Over browser, sent are the acts of the user, and received what is then seen of the page; what the page and its server
// exchange is not counted.
//
// Wall times of a suite contain its waits: those for silence, for time-outs, and for restarts. Processor times do not.
// Both contain the target or the server, which are in the same process, or are its children.
package bench
