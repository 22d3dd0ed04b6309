@session-chat @server
Feature: 5 The life cycle of a session
  stateDiagram-v2: Idle, Creating, Resuming, Active, Switching

  Rule: A new session is created and becomes active — Idle --> Creating: 首次发送chat消息

    @SC-045 @SC-046 @SC-047 @model @SC-5-01
    Scenario: the first chat of a connection creates a session
      When client A connects
      Then client A is connected
      And client A receives no message of any session
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is a new session

  Rule: A conversation continues — Active --> Active: 持续对话

    @SC-050 @model @SC-5-02
    Scenario: a session answers four chats
      Given client A has chatted with "red"
      And client A has chatted with "red"
      And client A has chatted with "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

  Rule: After a switch the other session is active — Switching --> Active: 获取另一个session

    @SC-052 @SC-057 @SC-5-03
    Scenario: a connection switches to a new session and back
      Given client A has chatted with "red"
      When client A chats with "blue"
      Then client A is answered by "blue"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

  Rule: A session without activity becomes idle — Active --> Idle: 长时间无活动

    @SC-053 @SC-016a @model @SC-5-04
    Scenario: an idle session continues
      Given client A has chatted with "red"
      And client A has chatted with "blue"
      When "red" is idle for longer than the target keeps idle sessions
      And client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

  Rule: The end of the WebSocket ends the activity — Active --> [*]: WebSocket断开

    @SC-054 @SC-059 @SC-016a @model @SC-5-05
    Scenario Outline: client A <leaves> and continues over another connection
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

    @SC-054 @SC-059 @SC-016a @model @SC-5-07
    Scenario Outline: client A <leaves> during a turn and continues over another connection
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A <leaves>
      And client A connects
      And the turn of "red" is released
      Then client A can chat with "red" again
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

      Examples:
        | leaves               |
        | disconnects          |
        | loses its connection |

    @SC-054 @SC-059 @SC-016a @model @SC-5-09
    Scenario: a session continues after a lost connection during a turn of another session
      Given client A has chatted with "blue"
      And client A chats with "red" in a turn that is held
      When client A loses its connection
      And the turn of "red" is released
      And client B chats with "blue"
      Then client B is answered by "blue"
      And "blue" is the same session as before
      And the model was sent the earlier turns of "blue"

    @SC-054 @model @SC-5-10
    Scenario: the end of one connection does not end a turn on another connection
      Given client A chats with "red" in a turn that is held
      And client B has chatted with "blue"
      When client B disconnects
      Then the turn of "red" still runs
      When the turn of "red" is released
      Then client A is answered by "red"

  Rule: A session survives a second chat during its turn — Active --> Active: 持续对话

    @SC-021 @SC-041 @SC-057 @model @SC-5-11
    Scenario: a session works after a second chat during a later turn
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A chats with "red"
      And the target has handled every message of client A
      And the earlier turn of "red" is released
      Then no turn of "red" runs any more
      And client A can chat with "red" again
      And "red" is the same session as before

    @SC-021 @SC-041 @SC-042 @SC-057 @model @SC-5-12
    Scenario: a session works after a second chat during its first turn
      Given client A chats with "red" in a turn that is held
      When client A chats with "red"
      And the target has handled every message of client A
      And the earlier turn of "red" is released
      Then no turn of "red" runs any more
      And client A can chat with "red" again
      And "red" is the same session as before

    @SC-021 @SC-041 @SC-057 @model @SC-5-13
    Scenario: a session works after a second chat at the end of a turn
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A chats with "red"
      And the earlier turn of "red" is released
      Then no turn of "red" runs any more
      And client A can chat with "red" again
      And "red" is the same session as before

    @SC-006 @SC-042 @SC-057 @model @race @SC-5-14
    Scenario: two chats in immediate succession create one session
      When client A starts a turn of "red" that is held
      And client A chats with "red"
      And the earlier turn of "red" is released
      Then no turn of "red" runs any more
      And client A can chat with "red" again
      And "red" is the same session as before

    @SC-006 @SC-050 @model @SC-5-15
    Scenario: a session answers thirteen chats with all its turns
      Given client A has chatted 12 times with "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"
