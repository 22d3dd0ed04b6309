package mutants

import (
	"crypto/rand"
	"fmt"
	"strconv"

	proto "parley/protocol/sessionchat"
)

// idFaults send a wrong session_id.
var idFaults = map[string]fault{
	"id-per-turn":           deciding(rules{SessionID: func(turnView) string { return rand.Text() }}),
	"id-per-connection":     deciding(rules{SessionID: func(v turnView) string { return "ws-" + v.Conn }}),
	"id-changes-on-resume":  deciding(rules{SessionID: newOnResume}),
	"ids-count-from-one":    counting,
	"id-per-message":        rewriting(ofTurn, func(msg message) message { return msg.With("session_id", rand.Text()) }),
	"id-of-the-result":      rewriting(ended(), func(msg message) message { return msg.With("session_id", rand.Text()) }),
	"id-of-two-creators":    twoCreators,
	"id-of-two-clients":     ofConnections,
	"id-in-first-turn-only": nullLater(proto.ResultMessage),
	"id-in-system-only":     nullLater(proto.SystemMessage),
	"id-never":              rewriting(ofTurn, func(msg message) message { return msg.With("session_id", nil) }),

	"agent-id-for-session-id":           rewriting(ofTurn, agentForID),
	"agent-id-for-session-id-in-errors": rewriting(typed(proto.ErrorMessage), agentForID),

	"errors-of-the-last-answered": erringAs(ended(proto.Success)),
	"errors-of-the-last-asked":    erringAs(typed(proto.SystemMessage)),
}

// erringAs reports the failure of a turn by an error too, which has the session_id of the last message of some kind,
// whichever session that belongs to.
func erringAs(last meant) fault {
	return func(o *options) {
		var id any
		o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
			if last(msg) {
				id = msg["session_id"]
			}
			if ended(proto.Failed)(msg) {
				send(to.ID, msg.With("message_type", proto.ErrorMessage).With("session_id", id))
			}
			send(to.ID, msg)
		}
	}
}

// agentForID sends the agent_id as the session_id.
func agentForID(msg message) message { return msg.With("session_id", msg["agent_id"]) }

func newOnResume(v turnView) string {
	if v.Resumed {
		return rand.Text()
	}
	return correct.SessionID(v)
}

// counting numbers the sessions of a process.
func counting(o *options) {
	n := 0
	o.Policy.SessionID = func(v turnView) string {
		if v.SessionID == "" {
			n++
			return strconv.Itoa(n)
		}
		return v.SessionID
	}
}

// ofConnections numbers the sessions that each connection makes.
func ofConnections(o *options) {
	made := map[string]int{}
	o.Policy.SessionID = func(v turnView) string {
		if v.SessionID != "" {
			return v.SessionID
		}
		made[v.Conn]++
		return fmt.Sprintf("session-%d", made[v.Conn])
	}
}

// nullLater sends the session_id of an agent_id only up to the first message of a type.
func nullLater(last string) fault {
	return func(o *options) {
		told := map[string]bool{}
		o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
			if agent := agentOf(msg); told[agent] && ofTurn(msg) {
				msg = msg.With("session_id", nil)
			} else {
				told[agent] = msg.Type() == last
			}
			send(to.ID, msg)
		}
	}
}

// twoCreators gives a session a new id in its second turn if that was asked for before the first had announced one.
func twoCreators(o *options) {
	chats, announced, both := map[string]int{}, map[string]bool{}, map[string]bool{} // by agent_id
	o.Inbound = noting(func(_ manager, _ connInfo, msg message) {
		if id := asked(msg); id != "" {
			both[id] = both[id] || chats[id] == 1 && !announced[id]
			chats[id]++
		}
	})
	o.Outbound = hearing(typed(proto.SystemMessage), func(msg message) { announced[agentOf(msg)] = true })
	o.Policy.SessionID = func(v turnView) string {
		if v.Turn == 2 && both[v.AgentID] {
			return rand.Text()
		}
		return correct.SessionID(v)
	}
}
