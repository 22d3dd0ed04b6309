@session-chat @server
Feature: 3 Switching between sessions
  On the same WebSocket connection, without reconnecting — 同一个WebSocket连接，无需断开重连

  Rule: Each chat is answered with its own agent_id — 返回响应（带agent_id: "B"）

    @SC-024 @SC-025 @SC-026 @SC-052 @SC-3-01
    Scenario: one connection chats with two sessions in succession
      When client A chats with "red"
      Then client A is answered by "red"
      When client A chats with "blue"
      Then client A is answered by "blue"

  Rule: Sessions have separate SDK clients — client_A, client_B

    @SC-027 @model @SC-3-02
    Scenario: two sessions have different ids and share no context
      Given client A has chatted with "red"
      And client A has chatted with "blue"
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "red" and "blue" are different sessions
      And the model was sent the earlier turns of "blue"
      And the model was sent no turn of another session for "blue"

    @SC-027 @SC-004 @model @SC-3-03
    Scenario: two sessions whose turns run at the same time share no context
      Given client A has chatted with "red"
      And client A starts a turn of "red" that is held
      And client A starts a turn of "blue" that is held
      Then the turns of "red" and "blue" run at the same time
      And the model was sent no turn of another session for "red"
      And the model was sent no turn of another session for "blue"
      When the turn of "red" is released
      Then client A is answered by "red"
      When the turn of "blue" is released
      Then client A is answered by "blue"

    @SC-027 @model @SC-3-04
    Scenario: a session that gets a chat during a turn of another session shares no context with it
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A chats with "blue"
      And the turn of "red" is released
      Then client A is answered by "blue"
      And client A is answered by "red"
      And the model was sent no turn of another session for "red"
      And the model was sent no turn of another session for "blue"

    @SC-027 @two-clients @SC-3-07
    Scenario: the sessions of two clients have different ids
      Given client A has chatted with "red"
      And client B has chatted with "blue"
      When client B chats with "blue"
      Then client B is answered by "blue"
      And "red" and "blue" are different sessions

  Rule: Going back to a session continues it — Switching --> Active: 获取另一个session

    @SC-028 @SC-052 @SC-057 @model @SC-3-05
    Scenario: a connection alternates between two sessions
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

    @SC-028 @model @SC-3-06
    Scenario: a connection goes back to a session during a turn of the other one
      Given client A has chatted with "red"
      And client A chats with "blue" in a turn that is held
      When client A chats with "red"
      And the turn of "blue" is released
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"
      And client A is answered by "blue"
