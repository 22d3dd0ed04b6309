@external-agent
Feature: 4.2 Host to client
  session.started, snapshot.state, tool.result, state.updated, user.message, session.ended, error

  Rule: session.started answers session.start

    @host @relay @EA-038 @preflight-3 @EA-4.2-01
    Scenario: a session is started
      Given agent A has joined
      When agent A starts a session
      Then agent A is told that the session has started

    @host @EA-039 @EA-040 @EA-4.2-02
    Scenario: session.started has the id of the session
      Given agent A has joined
      When agent A starts a session
      Then agent A is told that the session has started

  Rule: snapshot.state answers snapshot.get

    @host @relay @EA-041 @EA-4.2-03
    Scenario: a snapshot answers its request
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @host @EA-042 @EA-043 @EA-044 @EA-045 @EA-054 @EA-056 @EA-056a @EA-057 @EA-058 @EA-059 @booking @EA-4.2-04
    Scenario: snapshots and state.updated are complete at every stage of the booking
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A books a ticket from the first movie to the confirmation

    @host @relay @EA-041 @EA-077a @EA-4.2-05
    Scenario: each of several pending requests is answered with its own id
      Given agent A has a session
      Then agent A sends 20 requests of different kinds without waiting, and each is answered

    @host @relay @EA-041 @EA-4.2-06
    Scenario: two agents ask at once, and each gets its own answer
      Given the target lets several agents join a relay session
      And agent A has a session
      And agent B has joined
      Then agent A and agent B each ask for 5 snapshots at once, and each gets its own

  Rule: tool.result confirms that a tool was executed (`tool.result` 用于确认工具执行)

    @host @relay @EA-046 @EA-047 @booking @EA-4.2-07
    Scenario: a call is confirmed
      Given agent A has a session
      When agent A makes the first call of the booking
      Then agent A is told that the call succeeded

    @host @EA-046 @EA-047 @EA-048 @EA-049 @EA-050 @EA-052 @EA-052a @EA-051 @EA-053 @EA-054 @EA-072 @EA-073 @EA-075 @EA-080 @EA-081 @EA-104 @EA-105 @booking
    @EA-4.2-08
    Scenario: every tool of every stage is confirmed
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A calls every announced tool at every stage of the booking

    @host @EA-049 @EA-053 @EA-081 @EA-105 @booking @EA-4.2-09
    Scenario: a call of next may be confirmed by ok alone
      Given agent A has a session
      And agent A books up to the first call of "next"
      Then agent A is told that the call succeeded

  Rule: next, prev and postMessage may return ok without uiSpec; the agent should wait for the following state.updated (`next`、`prev`、`postMessage` 可能只返回 `ok`，不返回 `uiSpec`；应消费后续 `state.updated`)

    @host @EA-054 @booking @EA-4.2-10
    Scenario: next is followed by a state that shows its effect
      Given agent A has a session
      And agent A knows what the host changes on its own
      When agent A books up to the first call of "next"
      Then agent A is told that the call succeeded
      And agent A sees the effect of the call in a later state

    @host @EA-054 @booking @EA-4.2-11
    Scenario: prev is followed by a state that shows its effect
      Given agent A has a session
      And agent A knows what the host changes on its own
      When agent A books up to the first call of "next"
      And agent A is told that the call succeeded
      And agent A calls "prev"
      Then agent A is told that the call succeeded
      And agent A sees the effect of the call in a later state

    @host @EA-054 @EA-4.2-12
    Scenario: postMessage is followed by a state that shows its effect
      Given agent A has a session
      And agent A knows what the host changes on its own
      When agent A calls "postMessage"
      Then agent A is told that the call succeeded
      And agent A sees the effect of the call in a later state

    @agent @EA-054a @EA-4.2-13
    Scenario: an agent waits for the state after a result
      Given a host awaits the agent
      And the state after call 2 comes late
      When the agent is started
      Then the agent waits for the state

    @agent @EA-054a @EA-4.2-14
    Scenario: an agent acts on the state after a result even if the state comes late
      Given a host awaits the agent
      And the state after call 2 comes late
      When the agent is started
      Then the agent acts on the latest state

  Rule: state.updated announces a new state

    @host @relay @EA-055 @booking @EA-4.2-15
    Scenario: an agent receives a new state without asking
      Given agent A has a session
      When agent A makes the first call of the booking
      Then agent A receives a new state

    @relay @EA-055 @EA-4.2-16
    Scenario: an agent receives a state that the host announces on its own
      Given agent A has a session
      When the host announces a new state
      Then agent A receives a new state
      And the relay has passed on every message of agent A and its host unchanged

    @host @relay @EA-055 @booking @EA-4.2-17
    Scenario: every agent receives a new state
      Given the target lets several agents join a relay session
      And agent A has a session
      And agent B has joined
      When agent A makes the first call of the booking
      Then agent B receives a new state
      And agent A receives a new state

    @host @relay @EA-046 @EA-047 @booking @EA-4.2-18
    Scenario: a second agent's call is answered
      Given the target lets several agents join a relay session
      And agent A has a session
      And agent B has joined
      When agent B makes the first call of the booking
      Then agent B is told that the call succeeded

  Rule: user.message forwards the participant's message

    @host @relay @EA-060 @EA-4.2-19
    Scenario: the participant's message comes without a request
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A receives the participant's message

    @host @relay @EA-009 @EA-060 @EA-4.2-20
    Scenario: every message of the participant is forwarded, even after a reconnection
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A receives the participant's message
      When the participant speaks to agent A
      Then agent A receives the participant's message
      When agent A loses its connection
      And agent A has joined
      And agent A has a session
      And the participant speaks to agent A
      Then agent A receives the participant's message

    @host @EA-060 @EA-061 @EA-062 @booking @EA-4.2-21
    Scenario: user.message has the text and the stage, even at a later stage
      Given agent A has a session
      And agent A books up to the first call of "next"
      And agent A is told that the call succeeded
      When the participant speaks to agent A
      Then agent A receives the participant's message

  Rule: session.ended answers session.end

    @host @relay @EA-063 @EA-4.2-22
    Scenario: the end of a session is answered
      Given agent A has a session
      When agent A ends the session
      Then agent A is told that the session has ended

    @host @EA-064 @EA-065 @EA-066 @EA-067 @EA-4.2-23
    Scenario: session.ended names the session and its log, and says that the state is reset
      Given agent A has a session
      When agent A ends the session
      Then agent A is told that the session has ended

    @host @EA-038 @EA-042 @EA-063 @EA-064 @EA-4.2-24
    Scenario: successive sessions have different ids
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A ends the session
      Then agent A is told that the session has ended
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A ends the session
      Then agent A is told that the session has ended

  Rule: error names its request, a code and a message

    @host @relay @EA-068 @EA-069 @EA-070 @EA-084 @EA-4.2-25
    Scenario: an error names its request, a code and a message
      Given agent A has a session
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL"

  Rule: A failed call is answered by either error or tool.result with ok:false (将 `tool.result` 作为执行确认（`ok` / `error`）)

    @host @EA-104 @EA-4.2-26
    Scenario: a refused call is answered once
      Given agent A has a session
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL"
      When agent A asks for a snapshot
      Then agent A gets a snapshot

  Rule: A relay passes on every message unchanged

    @relay @EA-004 @EA-005 @EA-006 @EA-007 @EA-008 @EA-009 @EA-038 @EA-041 @EA-046 @EA-047 @EA-055 @EA-060 @EA-063 @EA-068 @EA-069 @EA-070
    @EA-4.2-27
    Scenario: every message of a booking is passed on unchanged
      Given agent A has a session
      And agent A books a ticket from the first movie to the confirmation
      And the participant speaks to agent A
      And agent A receives the participant's message
      And agent A sends the participant a message
      And the host announces a new state
      And the host announces a new state
      And agent A calls a tool that does not exist
      And agent A is refused with "UNKNOWN_TOOL" or "NO_ACTIVE_SPEC"
      And agent A ends the session
      And agent A is told that the session has ended
      Then the relay has passed on every message of agent A and its host unchanged

    @relay @EA-055 @EA-041 @EA-4.2-28
    Scenario: many messages at once stay in order
      Given agent A has a session
      And agent A sends 40 requests of different kinds without waiting, and each is answered
      Then the relay has passed on every message of agent A and its host unchanged

    @relay @EA-008 @EA-055 @EA-4.2-29
    Scenario: a message of a reconnected agent is passed on unchanged
      Given agent A has a session
      And agent A loses its connection
      And agent A has joined
      And agent A sends the participant a message
      And the host announces a new state
      Then the relay has passed on every message of agent A and its host unchanged

    @relay @EA-008 @EA-4.2-30
    Scenario: a message without an id is passed on unchanged
      Given agent A has a session
      When agent A sends the participant a message without an id
      Then the relay has passed on every message of agent A and its host unchanged

    @relay @EA-055 @EA-4.2-31
    Scenario: a long state is passed on unchanged
      Given agent A has a session
      When the host announces a long state
      Then agent A receives a new state
      And the relay has passed on every message of agent A and its host unchanged

    @relay @EA-055 @EA-4.2-32
    Scenario: content that decoding and encoding would change is passed on unchanged
      Given agent A has a session
      When the host sends JSON that decoding and encoding would change
      Then the relay has passed on every message of agent A and its host unchanged

    @relay @EA-025 @EA-038 @EA-041 @EA-4.2-33
    Scenario: another host replaces one that has left
      Given agent A has a session
      When the host leaves
      And another host joins
      And agent A starts a session
      Then agent A is told that the session has started
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @relay @EA-025 @EA-038 @EA-041 @EA-4.2-34
    Scenario: an agent is served after a second host has joined
      Given agent A has a session
      When a second host joins
      And agent A has a session
      And agent A asks for a snapshot
      Then agent A gets a snapshot

    @relay @EA-038 @EA-041 @EA-077a @EA-4.2-35
    Scenario Outline: a host that sends an invalid message does not disturb the others: <junk>
      Given agent A has a session
      When the host sends the relay <junk>
      And agent A is still served
      And agent A starts a session
      Then agent A is told that the session has started

      Examples:
        | junk                   |
        | malformed JSON         |
        | an empty text          |
        | a JSON array           |
        | a JSON null            |
        | v of an older version  |
        | no v                   |
        | no type                |
        | an unknown type        |
        | payload that is a list |
        | no payload             |

    @relay @EA-025 @EA-038 @EA-4.2-45
    Scenario: another host replaces one that has lost its connection
      Given agent A has a session
      When the host loses its connection
      And another host joins
      And agent A starts a session
      Then agent A is told that the session has started

    @host @relay @exclusive @restart @EA-025 @EA-028 @EA-038 @EA-041 @EA-4.2-46
    Scenario Outline: parties can join again after the target is <ended>
      Given agent A has a session
      When the target is <ended>
      And agent A has joined
      And agent A starts a session
      Then agent A is told that the session has started
      When agent A asks for a snapshot
      Then agent A gets a snapshot

      Examples:
        | ended                    |
        | restarted                |
        | killed and started again |

  Rule: A relay forwards what its parties send, whatever it has forwarded before

    @relay @EA-009 @EA-060 @EA-4.2-48
    Scenario: a participant who says the same twice is heard twice
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A receives the participant's message
      When the participant says the same to agent A again
      Then agent A receives the participant's message

    @relay @EA-041 @EA-4.2-49
    Scenario: the host is asked for each of two snapshots
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A asks for a snapshot
      Then agent A gets a snapshot
      And the relay has passed on every message of agent A and its host unchanged

    @relay @EA-055 @EA-4.2-50
    Scenario: an agent receives a new state after another agent has left
      Given the target lets several agents join a relay session
      And agent A has a session
      And agent B has joined
      When the host announces a new state
      Then agent B receives a new state
      When agent B disconnects
      And agent A asks for a snapshot
      Then agent A gets a snapshot
      When the host announces a new state
      Then agent A receives a new state

  Rule: next is followed by a state wherever it is called

    @host @EA-054 @booking @EA-4.2-51
    Scenario: next behind prev is followed by a state that shows its effect
      Given agent A has a session
      And agent A knows what the host changes on its own
      When agent A books up to the first call of "next"
      Then agent A is told that the call succeeded
      When agent A calls "prev"
      Then agent A is told that the call succeeded
      And agent A sees the effect of the call in a later state
      When agent A calls "next", choosing again if the host has forgotten the choices
      Then agent A is told that the call succeeded
      And agent A sees the effect of the call in a later state

  Rule: A long message comes like any other

    @host @EA-041 @EA-077a @EA-4.2-52
    Scenario: an agent gets a snapshot with a long history
      Given agent A has a session
      When agent A sends the participant 6 messages of 12 KB, if the target accepts that size
      And agent A asks for a snapshot
      Then agent A gets a snapshot

    @relay @EA-008 @EA-4.2-53
    Scenario: a long message of an agent is passed on unchanged
      Given agent A has a session
      When agent A sends the participant 1 message of 70 KB, if the target accepts that size
      Then the relay has passed on every message of agent A and its host unchanged

  Rule: An agent takes a state from what follows a call, whoever speaks meanwhile (应消费后续 `state.updated`)

    @agent @EA-054a @EA-4.2-54
    Scenario: an agent that hears the participant during a call waits for the state
      Given a host awaits the agent
      And the participant speaks during call 2, and its result and state come late
      When the agent is started
      Then the agent waits for the state

  Rule: A result confirms that its call was executed, also beside another call (用于确认工具执行)

    @host @EA-046 @EA-074 @booking @EA-4.2-55
    Scenario: two calls at once both have their effect
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A makes two calls without waiting, and both have their effect
