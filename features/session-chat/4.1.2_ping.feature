@session-chat @server
Feature: 4.1.2 The heartbeat
  type: "ping"

  Rule: A ping needs no agent_id and disturbs nothing — 心跳: type: "ping"

    @SC-037 @SC-037a @SC-4.1.2-01
    Scenario: a ping before the first chat is answered
      When client A pings
      Then client A gets a pong
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-037 @SC-037a @model @SC-4.1.2-02
    Scenario: a ping between two turns is answered
      Given client A has chatted with "red"
      When client A pings
      Then client A gets a pong
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-037 @SC-037a @model @SC-4.1.2-03
    Scenario: a ping during a turn is answered
      Given client A chats with "red" in a turn that is held
      When client A pings
      Then client A gets a pong
      And the turn of "red" still runs
      When the turn of "red" is released
      Then client A is answered by "red"

    @SC-037 @SC-037a @SC-4.1.2-04
    Scenario: three pings are answered
      When client A pings
      Then client A gets a pong
      When client A pings
      Then client A gets a pong
      When client A pings
      Then client A gets a pong
      When client A chats with "red"
      Then client A is answered by "red"
