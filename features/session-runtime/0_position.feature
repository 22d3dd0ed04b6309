@session-runtime @server
Feature: 0 The role of the orchestrator
  SessionRuntime = 会话内编排器 (Orchestrator): it consumes what comes to SYSTEM, and decides who gets it.

  Rule: The orchestrator subscribes to messages and consumes them — 订阅并消费消息

    @RT-013 @preflight-1 @RT-0-01
    Scenario: the bus accepts a connection
      When the bus is connected

    @RT-013 @preflight-2 @RT-0-02
    Scenario: a session is set up
      Given a session of agents "a", "b" and "c" where agent "a" is active
      Then everything is handled

    @RT-001 @RT-013 @RT-015 @RT-067 @preflight-3 @RT-0-03
    Scenario: an input is routed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"

  Rule: The orchestrator routes and arbitrates — 做路由与仲裁

    @RT-002 @RT-014 @RT-015 @RT-139 @RT-140 @RT-0-04
    Scenario: three successive turns are routed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      Given agent "a" is speaking in "t2"
      When agent "a" ends "t2"
      Given agent "a" is speaking in "t3"
      When agent "a" ends "t3"
      Then the next input reaches agent "a"

    @RT-015 @RT-0-05
    Scenario: messages of two sessions do not mix
      Given session "one" of agents "a" and "b" where agent "a" is active
      And session "two" of agents "b" and "c" where agent "b" is active
      When the next steps are in session "one"
      And the user says "t1"
      Then "t1" reaches agent "a"
      When the next steps are in session "two"
      And agent "b" is speaking in "t2"
      And the user cancels
      Then agent "b" is asked to stop "t2"
      When the next steps are in session "one"
      And agent "a" acknowledges "t1"
      And agent "a" ends "t1"
      And the next steps are in session "two"
      And agent "b" confirms the cancel of "t2"
      Then the frontend is told that "t2" is cancelled

    @RT-015 @RT-064 @RT-065 @RT-0-06
    Scenario: a switch in one session does not affect the other
      Given session "one" of agents "a" and "b" where agent "a" is active
      And session "two" of agents "a" and "b" where agent "a" is active
      When the next steps are in session "one"
      And the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When the next steps are in session "two"
      Then the next input reaches agent "a"
      When the next steps are in session "one"
      Then the next input reaches agent "b"

    @RT-015 @RT-052 @RT-141 @RT-0-07
    Scenario: output of one session is not forwarded in the other
      Given session "one" of agents "a" and "b" where agent "a" is active
      And session "two" of agents "a" and "b" where agent "a" is active
      When the next steps are in session "one"
      Then agent "a" is speaking in "t1"
      When the next steps are in session "two"
      Then agent "a" is speaking in "t2"
      When agent "a" sends a chunk of "t1" of session "one"
      Then that output is not forwarded
      When agent "a" ends "t2"

    @RT-015 @RT-0-08
    Scenario: a cancel in one session does not stop a turn of the other
      Given session "one" of agents "a" and "b" where agent "a" is active
      And session "two" of agents "a" and "b" where agent "a" is active
      When the next steps are in session "one"
      Then agent "a" is speaking in "t1"
      When the next steps are in session "two"
      And the user cancels
      Then no CANCEL is published
      When the next steps are in session "one"
      And agent "a" ends "t1"

    @RT-014 @RT-064 @RT-0-09
    Scenario: a session that is set up again starts from its initial state
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When the session is set up anew
      Then the next input reaches agent "a"

  Rule: The orchestrator creates no agent itself — 自己不创建 agent

    @RT-025 @RT-119 @RT-0-10
    Scenario: an agent is requested from SessionManager, not created
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      And no AGENT_ADDED is published
