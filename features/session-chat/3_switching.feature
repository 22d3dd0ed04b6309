@session-chat @server
Feature: 3 Switching between sessions
  同一个WebSocket连接，无需断开重连

  Rule: Each chat is answered with its own agent_id

    @SC-024 @SC-025 @SC-026 @SC-052
    Scenario: A, then B, on one connection
      When client A chats with "red"
      Then client A is answered by "red"
      When client A chats with "blue"
      Then client A is answered by "blue"

  Rule: Sessions have separate clients

    @SC-027 @model
    Scenario: ids differ, and no context leaks
      Given client A has chatted with "red"
      And client A has chatted with "blue"
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "red" and "blue" are different sessions
      And the model was sent the earlier turns of "blue"
      And the model was sent no turn of another session for "blue"

    @SC-027 @SC-004 @model
    Scenario: no context leaks while both run for sure
      Given client A has chatted with "red"
      And client A starts a turn of "red" that is held
      And client A starts a turn of "blue" that is held
      Then the turns of "red" and "blue" run at the same time
      And the model was sent no turn of another session for "red"
      And the model was sent no turn of another session for "blue"
      When the turn of "red" is let go on
      Then client A is answered by "red"
      When the turn of "blue" is let go on
      Then client A is answered by "blue"

    @SC-027 @model
    Scenario: no context leaks while both run
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A chats with "blue"
      And the turn of "red" is let go on
      Then client A is answered by "blue"
      And client A is answered by "red"
      And the model was sent no turn of another session for "red"
      And the model was sent no turn of another session for "blue"

  Rule: Going back continues

    @SC-028 @SC-052 @SC-057 @model
    Scenario: A, B, A, B
      Given client A has chatted with "red"
      And client A has chatted with "blue"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"
      And the model was sent no turn of another session for "red"
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "blue" is the same session as before
      And the model was sent the earlier turns of "blue"
      And the model was sent no turn of another session for "blue"

    @SC-028 @model
    Scenario: back to a session while the other one runs
      Given client A has chatted with "red"
      And client A chats with "blue" in a turn that is held
      When client A chats with "red"
      And the turn of "blue" is let go on
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"
      And client A is answered by "blue"
