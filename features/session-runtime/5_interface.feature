@session-runtime @server
Feature: 5 The interface
  SessionRuntime 对外的“唯一接口形态”: on_message

  Rule: Receipts advance the state machine — 通过“回执消息”推进状态机

    @RT-159 @RT-160 @RT-5-01
    Scenario: no transaction proceeds without its receipt
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      And no AGENT_ADDED is published
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      And no AGENT_REMOVED is published
      When the user opens the session
      Then SessionManager is asked to open the session
      And everything is handled
