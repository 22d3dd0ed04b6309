// Package externalagent is the bundled target of the external-agent protocol: an http.Handler that serves relay and
// host behind one URL. It combines the packages relay and host; a third package, agent, is the bundled external
// agent.
//
// The entry points are New and the routes of the Server that it returns:
//
//	GET  /agent/ws  the relay: each party joins a relay session first
//	GET  /          a page that shows a booking, on which the participant speaks; ?session=default&lang=en|zh
//	GET  /session   ?session=default: 200 {"active": true} while its host has a study session
//	GET  /wire      ?session=default&after=0: {"messages": [{n, at, in, text, cut}], "last"}, the host's latest
//	POST /say       {"sessionId", "text"}: what the participant says in the relay session; 409 without a study session
//	GET  /health    200 {"status":"ok"}
//
// A relay session gets its own host when its first agent joins, before that agent gets its reply. The host stays
// while agents come and go, so that a reconnecting agent finds its study session (EA-076). The server forgets a host,
// and completes its log, once it has had no agents for Options.Idle, or when another host is needed and there are
// already Options.MaxHosts. A party that joins a relay session as its host replaces the built-in one.
//
// The page joins its relay session as another agent that only asks for snapshots. The host logs these like all
// incoming messages.
package externalagent
