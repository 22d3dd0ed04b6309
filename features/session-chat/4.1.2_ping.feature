@session-chat @server
Feature: 4.1.2 The heartbeat
  type: "ping"

  Rule: A ping needs no agent_id, and disturbs nothing

    @SC-037 @SC-037a
    Scenario: before the first chat
      When client A pings
      Then client A gets a pong
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-037 @SC-037a @model
    Scenario: at rest
      Given client A has chatted with "red"
      When client A pings
      Then client A gets a pong
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-037 @SC-037a @model
    Scenario: while a turn runs
      Given client A chats with "red" in a turn that is held
      When client A pings
      Then client A gets a pong
      And the turn of "red" still runs
      When the turn of "red" is let go on
      Then client A is answered by "red"

    @SC-037 @SC-037a
    Scenario: three times
      When client A pings
      Then client A gets a pong
      When client A pings
      Then client A gets a pong
      When client A pings
      Then client A gets a pong
      When client A chats with "red"
      Then client A is answered by "red"
