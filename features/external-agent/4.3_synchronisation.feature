@external-agent
Feature: 4.3 Synchronisation
  将 `state.updated` 作为权威外部同步事件；将 `tool.result` 作为执行确认；在重连或状态疑似陈旧时，使用 `snapshot.get` / `snapshot.state` 显式重同步

  Rule: 将 state.updated 作为权威外部同步事件

    @host @EA-051 @EA-072 @EA-073 @booking
    Scenario: an agent is in step behind its first call
      Given agent A has a session
      And what the host changes by itself is known to agent A
      When agent A makes the first call of the booking
      Then agent A is told that the call went well
      And agent A is in step

    @host @EA-051 @EA-072 @EA-073 @EA-075 @booking
    Scenario: an agent is in step all the way to its ticket, and a quick uiSpec agrees with the state that follows
      Given agent A has a session
      And what the host changes by itself is known to agent A
      Then agent A books a ticket from the first movie to the confirmation

    @host @EA-072 @EA-073 @booking
    Scenario: an agent that only listens is in step too
      Given several agents may be in a relay session
      And agent A has a session
      And agent B has joined
      And what the host changes by itself is known to agent B
      When agent A books up to a call of "next"
      And agent A is told that the call went well
      Then agent B is in step

    @host @EA-072 @EA-073
    Scenario: an agent is in step behind what the participant says
      Given agent A has a session
      And what the host changes by itself is known to agent A
      And agent A calls "postMessage"
      And agent A is told that the call went well
      When the participant speaks to agent A
      And agent A hears the participant
      Then agent A is in step

    @agent @EA-051 @EA-072 @EA-077
    Scenario Outline: an agent goes by the state, and not by a result that says otherwise
      Given a host awaits the agent
      And the state behind call <n> is not what its result says
      When the agent is started
      Then the agent goes by the state

      Examples:
        | n |
        | 1 |
        | 3 |

    @agent @EA-051 @EA-072 @EA-077
    Scenario: an agent goes by the state, whichever comes first
      Given a host awaits the agent
      And the state comes before the result of call 1
      When the agent is started
      Then the agent goes by the state

    @agent @EA-072
    Scenario: an agent goes by a state that comes while it waits for a result
      Given a host awaits the agent
      And what is announced changes during call 1
      When the agent is started
      Then the agent goes by the state

    @agent @EA-072
    Scenario: an agent goes by what is announced, while what is shown stays the same
      Given a host awaits the agent
      And call 1 is refused, and what it asks for is announced no longer
      When the agent is started
      Then the agent goes by the state

    @agent @EA-051 @EA-072 @EA-077
    Scenario Outline: an agent goes by the state that shows nothing, whatever is announced
      Given a host awaits the agent
      And nothing is shown for a while behind call <n>, while tools are announced
      When the agent is started
      Then the agent takes nothing from what is shown no longer

      Examples:
        | n |
        | 1 |
        | 2 |

    @agent @EA-072 @EA-096a
    Scenario: an agent calls nothing while nothing is announced
      Given a host awaits the agent
      And nothing is announced for a while behind call 1
      When the agent is started
      Then the agent calls nothing meanwhile

  Rule: 将 tool.result 作为执行确认（ok / error）与可选快速 uiSpec

    @host @EA-074 @booking
    Scenario: a result confirms, and an error refuses
      Given agent A has a session
      When agent A makes the first call of the booking
      Then agent A is told that the call went well
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL"

    @agent @EA-074a
    Scenario Outline: an agent goes on behind a refused call
      Given a host awaits the agent
      And call <n> is refused with "<code>"
      When the agent is started
      Then the agent lives on

      Examples:
        | n | code                  |
        | 1 | INVALID_MESSAGE       |
        | 1 | UNKNOWN_TOOL          |
        | 1 | INVALID_PARAMS        |
        | 1 | NO_ACTIVE_SPEC        |
        | 1 | TOOL_EXECUTION_FAILED |
        | 3 | TOOL_EXECUTION_FAILED |
        | 1 | PARLEY_UNKNOWN        |

    @agent @EA-074a
    Scenario: an agent goes on behind two refusals in a row
      Given a host awaits the agent
      And call 1 is refused with "INVALID_PARAMS"
      And call 2 is refused by a result that is not ok
      When the agent is started
      Then the agent lives on

    @agent @EA-074a
    Scenario: an agent goes on behind a result that is not ok
      Given a host awaits the agent
      And call 1 is refused by a result that is not ok
      When the agent is started
      Then the agent lives on

    @agent @EA-074a
    Scenario: an agent goes on when its session is gone
      Given a host awaits the agent
      And the session is gone at call 2
      When the agent is started
      Then the agent lives on

  Rule: 在重连或状态疑似陈旧时，使用 snapshot.get / snapshot.state 显式重同步

    @host @relay @EA-077a
    Scenario: a snapshot can be asked for at any time
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A says something
      And agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A calls a tool that does not exist
      And agent A is refused with "UNKNOWN_TOOL"
      And agent A asks for a snapshot
      Then agent A gets a snapshot

    @host @EA-073 @EA-077a @booking
    Scenario: an agent is in step once it has come back
      Given agent A has a session
      And what the host changes by itself is known to agent A
      And agent A makes the first call of the booking
      And agent A is told that the call went well
      And agent A is in step
      When agent A loses its connection
      And agent A has joined
      Then what comes of agent A's return is noted
      And agent A can go on

    @agent @EA-076
    Scenario: an agent that has come back resynchronises first
      Given a host awaits the agent
      And the connection is lost behind call 1
      When the agent is started
      Then the agent comes back
      And the agent asks for a snapshot before it calls again

    @agent @EA-076
    Scenario: an agent that has come back twice resynchronises each time
      Given a host awaits the agent
      And the connection is lost behind call 1
      And the connection is lost behind call 2
      When the agent is started
      Then the agent comes back
      And the agent asks for a snapshot before it calls again

    @agent @EA-076 @EA-077
    Scenario: an agent that has come back goes by what it finds
      Given a host awaits the agent
      And the connection is lost in call 1, and the booking goes on without the agent
      When the agent is started
      Then the agent comes back
      And the agent asks for a snapshot before it calls again
      And the agent goes by the state

    @agent @EA-077
    Scenario: an agent to which no state comes asks for one
      Given a host awaits the agent
      And the state behind call 2 is lost
      When the agent is started
      Then the agent asks for a snapshot before it calls again
