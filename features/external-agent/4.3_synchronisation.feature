@external-agent
Feature: 4.3 Synchronisation
  state.updated is authoritative, tool.result confirms, and snapshot.get resynchronises.
  将 `state.updated` 作为权威外部同步事件；将 `tool.result` 作为执行确认；在重连或状态疑似陈旧时，使用 `snapshot.get` / `snapshot.state` 显式重同步

  Rule: state.updated is the authoritative synchronisation event (将 `state.updated` 作为权威外部同步事件)

    @host @EA-051 @EA-072 @EA-073 @booking @EA-4.3-01
    Scenario: an agent is in sync after its first call
      Given agent A has a session
      And agent A knows what the host changes on its own
      When agent A makes the first call of the booking
      Then agent A is told that the call succeeded
      And agent A is in sync

    @host @EA-051 @EA-072 @EA-073 @EA-075 @booking @EA-4.3-02
    Scenario: an agent stays in sync during a booking, and a quick uiSpec agrees with the following state
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A books a ticket from the first movie to the confirmation

    @host @EA-072 @EA-073 @booking @EA-4.3-03
    Scenario: an agent that makes no calls is in sync
      Given the target lets several agents join a relay session
      And agent A has a session
      And agent B has joined
      And agent B knows what the host changes on its own
      When agent A books up to the first call of "next"
      And agent A is told that the call succeeded
      Then agent B is in sync

    @host @EA-072 @EA-073 @EA-4.3-04
    Scenario: an agent is in sync after the participant's message
      Given agent A has a session
      And agent A knows what the host changes on its own
      And agent A calls "postMessage"
      And agent A is told that the call succeeded
      When the participant speaks to agent A
      And agent A receives the participant's message
      Then agent A is in sync

    @agent @EA-051 @EA-072 @EA-077 @EA-4.3-05
    Scenario Outline: an agent acts on the state, not on a result that contradicts it
      Given a host awaits the agent
      And the state after call <n> contradicts its result
      When the agent is started
      Then the agent acts on the latest state

      Examples:
        | n |
        | 1 |
        | 3 |

    @agent @EA-051 @EA-072 @EA-077 @EA-4.3-07
    Scenario: an agent acts on a state that comes before the result
      Given a host awaits the agent
      And the state comes before the result of call 1
      When the agent is started
      Then the agent acts on the latest state

    @agent @EA-072 @EA-4.3-08
    Scenario: an agent acts on a state that comes while it waits for a result
      Given a host awaits the agent
      And the announced tools change during call 1
      When the agent is started
      Then the agent acts on the latest state

    @agent @EA-072 @EA-4.3-09
    Scenario: an agent acts on newly announced tools even if uiSpec is unchanged
      Given a host awaits the agent
      And call 1 is refused, and is no longer announced
      When the agent is started
      Then the agent acts on the latest state

    @agent @EA-051 @EA-072 @EA-077 @EA-4.3-10
    Scenario Outline: an agent acts on a state without a uiSpec even if tools are announced
      Given a host awaits the agent
      And no uiSpec is shown for a while after call <n>, while tools are announced
      When the agent is started
      Then the agent uses only what is still shown

      Examples:
        | n |
        | 1 |
        | 2 |

    @agent @EA-072 @EA-096a @EA-4.3-12
    Scenario: an agent calls no tool while none is announced
      Given a host awaits the agent
      And no tool is announced for a while after call 1
      When the agent is started
      Then the agent calls no tool meanwhile

  Rule: tool.result confirms execution, with an optional quick uiSpec (将 `tool.result` 作为执行确认（ok / error）与可选快速 `uiSpec`)

    @host @EA-074 @booking @EA-4.3-13
    Scenario: a result confirms a call, and an error refuses it
      Given agent A has a session
      When agent A makes the first call of the booking
      Then agent A is told that the call succeeded
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL"

    @agent @EA-074 @EA-074a @EA-4.3-14
    Scenario Outline: an agent continues after call <n> is refused with <code>
      Given a host awaits the agent
      And call <n> is refused with "<code>"
      When the agent is started
      Then the agent continues

      Examples:
        | n | code                  |
        | 1 | INVALID_MESSAGE       |
        | 1 | UNKNOWN_TOOL          |
        | 1 | INVALID_PARAMS        |
        | 1 | NO_ACTIVE_SPEC        |
        | 1 | TOOL_EXECUTION_FAILED |
        | 3 | TOOL_EXECUTION_FAILED |
        | 1 | PARLEY_UNKNOWN        |

    @agent @EA-074 @EA-074a @EA-4.3-21
    Scenario: an agent continues after two refusals in a row
      Given a host awaits the agent
      And call 1 is refused with "INVALID_PARAMS"
      And call 2 is refused by a result with ok:false
      When the agent is started
      Then the agent continues

    @agent @EA-074 @EA-074a @EA-4.3-22
    Scenario: an agent continues after a result with ok:false
      Given a host awaits the agent
      And call 1 is refused by a result with ok:false
      When the agent is started
      Then the agent continues

    @agent @EA-074 @EA-074a @EA-4.3-23
    Scenario: an agent continues after its session is lost
      Given a host awaits the agent
      And the host has lost the session at call 2
      When the agent is started
      Then the agent continues

  Rule: After a reconnection, or when the state may be stale, the agent resynchronises with snapshot.get and snapshot.state (在重连或状态疑似陈旧时，使用 `snapshot.get` / `snapshot.state` 显式重同步)

    @host @relay @EA-077a @EA-4.3-24
    Scenario: an agent can request a snapshot at any time
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A sends the participant a message
      And agent A asks for a snapshot
      Then agent A gets a snapshot
      When agent A calls a tool that does not exist
      And agent A is refused with "UNKNOWN_TOOL"
      And agent A asks for a snapshot
      Then agent A gets a snapshot

    @host @EA-073 @EA-077a @booking @EA-4.3-25
    Scenario: an agent is in sync after it has reconnected
      Given agent A has a session
      And agent A knows what the host changes on its own
      And agent A makes the first call of the booking
      And agent A is told that the call succeeded
      And agent A is in sync
      When agent A loses its connection
      And agent A has joined
      Then whether agent A's session has survived is recorded
      And agent A is still served

    @agent @EA-076 @EA-4.3-26
    Scenario: an agent that has reconnected resynchronises first
      Given a host awaits the agent
      And the connection is lost after call 1
      When the agent is started
      Then the agent reconnects
      And the agent asks for a snapshot before its next call

    @agent @EA-076 @EA-4.3-27
    Scenario: an agent that has reconnected twice resynchronises each time
      Given a host awaits the agent
      And the connection is lost after call 1
      And the connection is lost after call 2
      When the agent is started
      Then the agent reconnects
      And the agent asks for a snapshot before its next call

    @agent @EA-076 @EA-077 @EA-4.3-28
    Scenario: an agent that has reconnected acts on the state that it finds
      Given a host awaits the agent
      And the connection is lost during call 1, and the booking goes on without the agent
      When the agent is started
      Then the agent reconnects
      And the agent asks for a snapshot before its next call
      And the agent acts on the latest state

    @agent @EA-077 @EA-4.3-29
    Scenario: an agent that receives no state asks for one
      Given a host awaits the agent
      And the state after call 2 is lost
      When the agent is started
      Then the agent asks for a snapshot before its next call

  Rule: A state.updated follows a change whatever the values of the call are (将 `state.updated` 作为权威外部同步事件)

    @host @EA-046 @EA-047 @EA-051 @EA-072 @EA-073 @EA-075 @booking @long @EA-4.3-30
    Scenario: an agent is in sync after calls with other values than those of the booking
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A calls the announced tools with other values at every stage of the booking

    @agent @EA-072 @EA-077 @EA-4.3-31
    Scenario: an agent that has reconnected acts on the state when a later result contradicts it
      Given a host awaits the agent
      And the connection is lost after call 1
      And the state after call 3 contradicts its result
      When the agent is started
      Then the agent acts on the latest state

    @agent @EA-072 @EA-077 @EA-4.3-32
    Scenario: an agent that has reconnected acts on the tools that are announced later
      Given a host awaits the agent
      And the connection is lost after call 1
      And the announced tools change during call 2
      When the agent is started
      Then the agent acts on the latest state

  Rule: A snapshot after a reconnection agrees with the last state before it, if nobody has acted (将 `state.updated` 作为权威外部同步事件)

    @host @EA-073 @booking @EA-4.3-33
    Scenario: an agent that has reconnected finds its session as it left it
      Given agent A has a session
      And agent A knows what the host changes on its own
      And agent A sends the participant a message
      And agent A makes the first call of the booking
      And agent A is told that the call succeeded
      And agent A is in sync
      When agent A loses its connection
      And agent A has joined
      Then agent A finds its session as it left it, if the session has survived
