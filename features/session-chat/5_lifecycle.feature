@session-chat @server
Feature: 5 The life of a session
  stateDiagram-v2: Idle, Creating, Resuming, Active, Switching

  Rule: Idle --> Creating --> Active

    @SC-045 @SC-046 @SC-047 @model
    Scenario: the first chat of a connection
      When client A connects
      Then client A is connected
      And client A hears of no session
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is a new session

  Rule: Active --> Active: 持续对话

    @SC-050 @model
    Scenario: a conversation goes on
      Given client A has chatted with "red"
      And client A has chatted with "red"
      And client A has chatted with "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

  Rule: Switching --> Active

    @SC-052 @SC-057
    Scenario: to a new session, and back
      Given client A has chatted with "red"
      When client A chats with "blue"
      Then client A is answered by "blue"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

  Rule: Active --> Idle: 长时间无活动

    @SC-053 @SC-016a @model
    Scenario: a session that has rested goes on
      Given client A has chatted with "red"
      And client A has chatted with "blue"
      When "red" rests for longer than the target keeps idle sessions
      And client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

  Rule: Active --> [*]: WebSocket断开

    @SC-054 @SC-059 @SC-016a @model
    Scenario Outline: client A <leaves>, and goes on over another connection
      Given client A has chatted with "red"
      When client A <leaves>
      And client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

      Examples:
        | leaves               |
        | disconnects          |
        | loses its connection |

    @SC-054 @SC-059 @SC-016a @model
    Scenario Outline: client A <leaves> in the middle of a turn
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A <leaves>
      And client A connects
      And the turn of "red" is let go on
      Then client A can chat with "red" again
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

      Examples:
        | leaves               |
        | disconnects          |
        | loses its connection |

    @SC-054 @SC-059 @SC-016a @model
    Scenario: another session of the lost connection goes on too
      Given client A has chatted with "blue"
      And client A chats with "red" in a turn that is held
      When client A loses its connection
      And the turn of "red" is let go on
      And client B chats with "blue"
      Then client B is answered by "blue"
      And "blue" is the same session as before
      And the model was sent the earlier turns of "blue"

    @SC-054 @model
    Scenario: the end of one connection ends no turn of another
      Given client A chats with "red" in a turn that is held
      And client B has chatted with "blue"
      When client B disconnects
      Then the turn of "red" still runs
      When the turn of "red" is let go on
      Then client A is answered by "red"

  Rule: A second chat while the first runs

    @SC-021 @SC-041 @SC-057 @model
    Scenario: the second has come while the first runs for sure
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A chats with "red"
      And what client A has sent is dealt with
      And the turn of "red" before it is let go on
      Then "red" comes to rest
      And client A can chat with "red" again
      And "red" is the same session as before

    @SC-021 @SC-041 @SC-042 @SC-057 @model
    Scenario: the first chat of a session still runs
      Given client A chats with "red" in a turn that is held
      When client A chats with "red"
      And what client A has sent is dealt with
      And the turn of "red" before it is let go on
      Then "red" comes to rest
      And client A can chat with "red" again
      And "red" is the same session as before

    @SC-021 @SC-041 @SC-057 @model
    Scenario: the session works afterwards, whatever becomes of the second
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A chats with "red"
      And the turn of "red" before it is let go on
      Then "red" comes to rest
      And client A can chat with "red" again
      And "red" is the same session as before
