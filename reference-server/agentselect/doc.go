// Package agentselect is the bundled target of the agent-select protocol: an http.Handler that implements
// agent-select.zh.md, as the project's rulings interpret it, over the default binding.
//
// The entry points are New and the routes of the Server that it returns:
//
//	GET    /events           the stream (SSE): connected, agent_list, then whatever happens on this connection
//	POST   /message          chat, switch_agent, abort, tool_confirmation_response, user_question_response
//	POST   /session/create   {connectionId, initialAgentId?}
//	POST   /session/load     {connectionId, sessionId}
//	GET    /session/list
//	DELETE /session/{id}
//	GET    /health
//	GET    /agents/ws        the same events and messages over one WebSocket; an extension of this project
//
// The server's parts follow the terms of section 4.3, because implementations confuse these:
//
//   - a connection is a bounded queue of events, and at most one default session
//   - a session has an owner (the connection that its events go to), an agent, and a history
//   - sessionControllers holds the running turns, pendingInteractions what the user has not answered yet; a session is
//     busy if either has an entry. While a turn waits for the user its controller is parked, so each can hold alone.
//
// Each decision that the source prescribes is a function of a Policy; Correct has the correct ones. Messages and
// events pass through Options.Inbound and Options.Outbound. Faulty servers (package mutants) replace these, so this
// code contains no faults.
//
// Tools are never executed: the result of a confirmed command is a sentence that it was not run.
package agentselect
