@external-agent
Feature: 4.2 Host to client
  session.started, snapshot.state, tool.result, state.updated, user.message, session.ended, error

  Rule: session.started

    @host @relay @EA-038 @preflight-3
    Scenario: a session is started
      Given agent A has joined
      When agent A starts a session
      Then agent A is told of the session

    @host @EA-039 @EA-040
    Scenario: a session has an id
      Given agent A has joined
      When agent A starts a session
      Then agent A is told of the session

  Rule: snapshot.state

    @host @relay @EA-041
    Scenario: a snapshot answers its request
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @host @EA-042 @EA-043 @EA-044 @EA-045 @EA-056 @EA-057 @EA-058 @EA-059 @booking
    Scenario: a snapshot has everything, and so has state.updated, wherever the booking stands
      Given agent A has a session
      And what the host changes by itself is known to agent A
      Then agent A books a ticket from the first movie to the confirmation

    @host @relay @EA-041 @EA-077a
    Scenario: requests that are under way at once are answered each by its own id
      Given agent A has a session
      Then agent A sends 20 requests of all kinds without waiting, and each is answered

    @host @relay @EA-041
    Scenario: two agents ask at once, and each gets its own answer
      Given several agents may be in a relay session
      And agent A has a session
      And agent B has joined
      Then agent A and agent B each ask for 5 snapshots at once, and each gets its own

  Rule: tool.result 用于确认工具执行

    @host @relay @EA-046 @EA-047 @booking
    Scenario: a call is confirmed
      Given agent A has a session
      When agent A makes the first call of the booking
      Then agent A is told that the call went well

    @host @EA-046 @EA-047 @EA-048 @EA-049 @EA-050 @EA-052 @EA-052a @EA-051 @EA-053 @EA-054 @EA-072 @EA-073 @EA-075 @EA-080 @EA-081 @EA-104 @EA-105 @booking
    Scenario: every tool of every stage is confirmed
      Given agent A has a session
      And what the host changes by itself is known to agent A
      Then agent A calls every announced tool, at every stage of the booking

    @host @EA-049 @EA-053 @EA-081 @EA-105 @booking
    Scenario: a call that may be confirmed by ok alone
      Given agent A has a session
      And agent A books up to a call of "next"
      Then agent A is told that the call went well

  Rule: next、prev、postMessage 可能只返回 ok，不返回 uiSpec；应消费后续 state.updated

    @host @EA-054 @booking
    Scenario: next is followed by a state that shows it
      Given agent A has a session
      And what the host changes by itself is known to agent A
      When agent A books up to a call of "next"
      Then agent A is told that the call went well
      And agent A sees its effect in a state that follows

    @host @EA-054 @booking
    Scenario: prev is followed by a state that shows it
      Given agent A has a session
      And what the host changes by itself is known to agent A
      When agent A books up to a call of "next"
      And agent A is told that the call went well
      And agent A calls "prev"
      Then agent A is told that the call went well
      And agent A sees its effect in a state that follows

    @host @EA-054
    Scenario: postMessage is followed by a state that shows it
      Given agent A has a session
      And what the host changes by itself is known to agent A
      When agent A calls "postMessage"
      Then agent A is told that the call went well
      And agent A sees its effect in a state that follows

    @agent @EA-054a
    Scenario: an agent waits for the state behind a result
      Given a host awaits the agent
      And the state behind call 2 comes late
      When the agent is started
      Then the agent waits for the state

    @agent @EA-054a
    Scenario: an agent goes by the state behind a result, however late it comes
      Given a host awaits the agent
      And the state behind call 2 comes late
      When the agent is started
      Then the agent goes by the state

  Rule: state.updated

    @host @relay @EA-055 @booking
    Scenario: an agent is told of a new state unasked
      Given agent A has a session
      When agent A makes the first call of the booking
      Then agent A hears of a new state

    @relay @EA-055
    Scenario: a state that the host announces by itself
      Given agent A has a session
      When the host announces a new state
      Then agent A hears of a new state
      And what agent A and its host say has passed as it was

    @host @relay @EA-055 @booking
    Scenario: every agent is told
      Given several agents may be in a relay session
      And agent A has a session
      And agent B has joined
      When agent A makes the first call of the booking
      Then agent B hears of a new state
      And agent A hears of a new state

    @host @relay @EA-046 @EA-047 @booking
    Scenario: another agent's call is answered too
      Given several agents may be in a relay session
      And agent A has a session
      And agent B has joined
      When agent B makes the first call of the booking
      Then agent B is told that the call went well

  Rule: user.message

    @host @relay @EA-060
    Scenario: what the participant says comes unasked
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A hears the participant

    @host @relay @EA-009 @EA-060
    Scenario: what the participant says is forwarded each time, to an agent that has come back too
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A hears the participant
      When the participant speaks to agent A
      Then agent A hears the participant
      When agent A loses its connection
      And agent A has joined
      And agent A has a session
      And the participant speaks to agent A
      Then agent A hears the participant

    @host @EA-060 @EA-061 @EA-062 @booking
    Scenario: it has the text and the stage, at a later stage too
      Given agent A has a session
      And agent A books up to a call of "next"
      And agent A is told that the call went well
      When the participant speaks to agent A
      Then agent A hears the participant

  Rule: session.ended

    @host @relay @EA-063
    Scenario: the end of a session is answered
      Given agent A has a session
      When agent A ends the session
      Then agent A is told that the session has ended

    @host @EA-064 @EA-065 @EA-066 @EA-067
    Scenario: it names the session and its log, and says that the state is reset
      Given agent A has a session
      When agent A ends the session
      Then agent A is told that the session has ended

    @host @EA-038 @EA-042 @EA-063 @EA-064
    Scenario: sessions that follow one another have each its own id
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

  Rule: error

    @host @relay @EA-068 @EA-069 @EA-070 @EA-084
    Scenario: an error names its request, a code and a message
      Given agent A has a session
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL"

  Rule: the failure of a tool is one of error and tool.result with ok:false

    @host @EA-104
    Scenario: a refused call is answered once
      Given agent A has a session
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL"
      When agent A asks for a snapshot
      Then agent A gets a snapshot

  Rule: a relay passes on what is said as it was

    @relay @EA-004 @EA-005 @EA-006 @EA-007 @EA-008 @EA-009 @EA-038 @EA-041 @EA-046 @EA-047 @EA-055 @EA-060 @EA-063 @EA-068 @EA-069 @EA-070
    Scenario: everything that is said on the way to a ticket
      Given agent A has a session
      And agent A books a ticket from the first movie to the confirmation
      And the participant speaks to agent A
      And agent A hears the participant
      And agent A says something
      And the host announces a new state
      And the host announces a new state
      And agent A calls a tool that does not exist
      And agent A is refused with "UNKNOWN_TOOL" or "NO_ACTIVE_SPEC"
      And agent A ends the session
      And agent A is told that the session has ended
      Then what agent A and its host say has passed as it was

    @relay @EA-055 @EA-041
    Scenario: many messages at once stay in order
      Given agent A has a session
      And agent A sends 40 requests of all kinds without waiting, and each is answered
      Then what agent A and its host say has passed as it was

    @relay @EA-008 @EA-055
    Scenario: what an agent says once it has come back
      Given agent A has a session
      And agent A loses its connection
      And agent A has joined
      And agent A says something
      And the host announces a new state
      Then what agent A and its host say has passed as it was

    @relay @EA-008
    Scenario: a message without an id
      Given agent A has a session
      When agent A says something without an id
      Then what agent A and its host say has passed as it was

    @relay @EA-055
    Scenario: a long state
      Given agent A has a session
      When the host announces a long state
      Then agent A hears of a new state
      And what agent A and its host say has passed as it was

    @relay @EA-055
    Scenario: what a decoder would lose
      Given agent A has a session
      When the host sends what no JSON encoder would send twice alike
      Then what agent A and its host say has passed as it was

    @relay @EA-025 @EA-038 @EA-041
    Scenario: another host takes the place of one that has left
      Given agent A has a session
      When the host leaves
      And another host joins
      And agent A starts a session
      Then agent A is told of the session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @relay @EA-025 @EA-038 @EA-041
    Scenario: a host beside another, whichever of them the relay takes
      Given agent A has a session
      When a second host joins beside it
      And agent A has a session
      And agent A asks for a snapshot
      Then agent A gets a snapshot

    @relay @EA-038 @EA-041 @EA-077a
    Scenario Outline: a host that sends nonsense breaks nothing for others
      Given agent A has a session
      When the host sends the relay <junk>
      And agent A can go on
      And agent A starts a session
      Then agent A is told of the session

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

    @relay @EA-025 @EA-038
    Scenario: another host takes the place of one that was lost
      Given agent A has a session
      When the host loses its connection
      And another host joins
      And agent A starts a session
      Then agent A is told of the session

    @host @relay @exclusive @restart @EA-025 @EA-028 @EA-038 @EA-041
    Scenario Outline: everybody can join again once the target was started again
      Given agent A has a session
      When the target is <ended>
      And agent A has joined
      And agent A starts a session
      Then agent A is told of the session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

      Examples:
        | ended                    |
        | restarted                |
        | killed and started again |
