@session-chat @server
Feature: 0 Principles
  Sessions are created on demand, and driven by messages — 核心思想：按需创建（Lazy Loading），消息驱动（Message Driven）

  Rule: Opening the WebSocket creates no session — [*] --> Idle: WebSocket连接建立

    @SC-045 @preflight-1 @SC-0-01
    Scenario: a client can connect
      When client A connects
      Then client A is connected

    @SC-001 @SC-002 @SC-045 @SC-0-02
    Scenario: a connection without a chat receives no message of any session
      When client A connects
      Then client A is connected
      And client A receives no message of any session

    @SC-001 @model @SC-0-03
    Scenario: a session on one connection sends nothing to another connection
      Given client A has chatted with "red"
      When client B connects
      Then client B receives no message of any session

  Rule: Every session operation is triggered by a chat — 所有会话操作由 chat 消息触发

    @SC-002 @SC-003 @SC-055 @model @SC-0-04
    Scenario: the first chat creates the session, and the second continues it
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is a new session
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-002 @SC-055 @SC-0-05
    Scenario: a ping creates no session
      Given client A has chatted with "red"
      When client A pings
      Then client A receives no message of any session

    @SC-002 @SC-055 @SC-0-06
    Scenario: an interrupt of an unused agent_id creates no session
      Given client A has chatted with "red"
      When client A interrupts "blue"
      Then client A receives no message of the session "blue"
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "blue" is a new session

  Rule: One WebSocket connection serves several sessions — 单一WebSocket连接处理多个session

    @SC-004 @SC-057 @model @SC-0-07
    Scenario: one connection serves three sessions
      When client A chats with "red"
      Then client A is answered by "red"
      When client A chats with "blue"
      Then client A is answered by "blue"
      When client A chats with "green"
      Then client A is answered by "green"
      And "red" and "blue" are different sessions
      And "red" and "green" are different sessions
      And "blue" and "green" are different sessions

    @SC-004 @SC-021 @SC-024 @model @SC-0-08
    Scenario: one connection serves two turns at the same time
      Given client A starts a turn of "red" that is held
      And client A starts a turn of "blue" that is held
      Then the turns of "red" and "blue" run at the same time
      When the turn of "blue" is released
      Then client A is answered by "blue"
      And the turn of "red" still runs
      When the turn of "red" is released
      Then client A is answered by "red"
      And "red" and "blue" are different sessions

  Rule: A connection receives only the sessions that it has asked for — [*] --> Idle: WebSocket连接建立

    @SC-001 @SC-045 @model @SC-0-09
    Scenario: a turn on one connection sends nothing to another connection
      Given client B connects
      When client A chats with "red" in a turn of 3 pieces
      Then client A is answered by "red"
      And client B receives no message of any session

  Rule: A connection may use any number of sessions — 单一WebSocket连接处理多个session

    @SC-004 @SC-009 @SC-046 @model @SC-0-10
    Scenario: twenty sessions of one connection, one after the other, are answered
      When client A connects
      Then client A is answered in each of 20 new sessions

    @SC-004 @model @SC-0-11
    Scenario: a turn runs on while its connection uses twenty other sessions
      Given client A chats with "red" in a turn that is held
      When client A has chatted with 20 other sessions
      Then the turn of "red" still runs
      When the turn of "red" is released
      Then client A is answered by "red"

    @SC-004 @SC-006 @SC-028 @model @SC-0-12
    Scenario: a session continues after its connection has used twenty other sessions
      Given client A has chatted with "red"
      When client A has chatted with 20 other sessions
      And client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"

    @SC-004 @SC-025 @model @SC-0-13
    Scenario: a chat on another connection ends no turn of another session on the first
      Given client A has chatted with "red"
      And client A chats with "blue" in a turn that is held
      When client B chats with "red"
      Then client B is answered by "red"
      When the turn of "blue" is released
      Then client A is answered by "blue"

    @SC-004 @SC-025 @model @SC-0-14
    Scenario: a chat with a busy session on another connection ends no turn of another session on the first
      Given client A starts a turn of "red" that is held
      And client A starts a turn of "blue" that is held
      And the turns of "red" and "blue" run at the same time
      When client B chats with "red"
      And the target has handled every message of client B
      And the earlier turn of "red" is released
      And the turn of "blue" is released
      Then client A is answered by "blue"
