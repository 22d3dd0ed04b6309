@session-chat @server
Feature: 0 Principles
  核心思想：按需创建（Lazy Loading），消息驱动（Message Driven）

  Rule: Opening the socket creates no session

    @SC-045 @preflight-1
    Scenario: connecting
      When client A connects
      Then client A is connected

    @SC-001 @SC-002 @SC-045
    Scenario: a connection without a chat hears of no session
      When client A connects
      Then client A is connected
      And client A hears of no session

    @SC-001 @model
    Scenario: what one connection does starts nothing on another
      Given client A has chatted with "red"
      When client B connects
      Then client B hears of no session

  Rule: 所有会话操作由 chat 消息触发

    @SC-002 @SC-003 @SC-055 @model
    Scenario: the first chat creates, the second continues
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is a new session
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-002 @SC-055
    Scenario: a ping creates no session
      Given client A has chatted with "red"
      When client A pings
      Then client A hears of no session

    @SC-002 @SC-055
    Scenario: an interrupt for an agent_id that nobody has used creates no session
      Given client A has chatted with "red"
      When client A interrupts "blue"
      Then client A hears of no session of "blue"
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "blue" is a new session

  Rule: 单一WebSocket连接处理多个session

    @SC-004 @SC-057 @model
    Scenario: three sessions on one connection
      When client A chats with "red"
      Then client A is answered by "red"
      When client A chats with "blue"
      Then client A is answered by "blue"
      When client A chats with "green"
      Then client A is answered by "green"
      And "red" and "blue" are different sessions
      And "red" and "green" are different sessions
      And "blue" and "green" are different sessions

    @SC-004 @SC-021 @SC-024 @model
    Scenario: two sessions stream at the same time
      Given client A starts a turn of "red" that is held
      And client A starts a turn of "blue" that is held
      Then the turns of "red" and "blue" run at the same time
      When the turn of "blue" is let go on
      Then client A is answered by "blue"
      And the turn of "red" still runs
      When the turn of "red" is let go on
      Then client A is answered by "red"
      And "red" and "blue" are different sessions
