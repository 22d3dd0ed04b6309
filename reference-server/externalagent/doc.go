// Package externalagent is the bundled target of the external-agent protocol: an http.Handler that is relay and host
// behind one URL. It puts the packages relay and host together; a third, agent, is the bundled external agent.
//
// The doors are New, and the routes of the Server that it returns:
//
//	GET  /agent/ws  the relay: each party joins a relay session first
//	GET  /          a page that shows a booking, on which the participant speaks; ?session=default&lang=en|zh
//	GET  /session   ?session=default: 200 {"active": true} while its host has a study session
//	POST /say       {"sessionId", "text"}: what the participant says in the relay session; 409 without a study session
//	GET  /health    200 {"status":"ok"}
//
// A relay session gets a host of its own when its first agent joins, before that agent is answered. The host stays
// while the agents come and go, so that who reconnects finds the study session (EA-076); once there has been none for
// Options.Idle, or there are Options.MaxHosts and another is needed, it is forgotten, and its log ended in order. A
// party that joins a relay session as its host takes the place of the one here.
//
// The page joins its relay session as another agent that asks for snapshots and no more. The host's log has these, as
// it has all that comes in.
package externalagent
