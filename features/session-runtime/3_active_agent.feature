@session-runtime @server
Feature: 3 The active agent
  必须走总线 + 同步更新本地状态。

  Rule: A switch is published as CONTROL SWITCH_AGENT with from, to, reason and trigger — 发布标准消息: CONTROL: SWITCH_AGENT (payload: from/to/reason/trigger)

    @RT-006 @RT-032 @RT-063 @RT-064 @RT-065 @RT-066 @RT-091 @RT-167 @RT-048 @RT-3-01
    Scenario: the user switches to another agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      And the next input reaches agent "b"

    @RT-063 @RT-064 @RT-065 @RT-3-02
    Scenario: the user switches to another agent and back
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When the user switches to agent "c"
      Then a switch from agent "b" to agent "c" is announced
      When the user switches to agent "a"
      Then a switch from agent "c" to agent "a" is announced
      And the next input reaches agent "a"

    @RT-064 @RT-3-03
    Scenario: an input sent immediately after a switch reaches the new agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "b"
      And the user says "t1"
      Then "t1" reaches agent "b"

    @RT-176 @RT-032 @RT-3-04
    Scenario: a switch is executed while an agent is speaking
      Given a session of agents "a", "b" and "c" where agent "c" is active
      When the user switches to agent "a"
      Then a switch from agent "c" to agent "a" is announced
      Given agent "a" is speaking in "t1"
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When agent "a" ends "t1"
      Then the next input reaches agent "b"
