@session-runtime @server
Feature: 2 The orchestrator's state
  必须有三类状态: 基本会话状态, inflight, 编排事务

  Rule: Turns are keyed by turn_id — 以 turn_id 为 key

    @RT-002 @RT-052 @RT-053 @RT-055 @RT-141 @RT-142 @RT-2-01
    Scenario: interleaved chunks of two agents are forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" runs at agent "b"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "b" sends a chunk of "t2"
      Then the frontend receives the output of "t2"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "b" ends "t2"
      And agent "a" ends "t1"

    @RT-052 @RT-2-02
    Scenario: two turns that are acknowledged in reverse order are both forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" reaches agent "b"
      When agent "b" acknowledges "t2"
      And agent "a" acknowledges "t1"
      And agent "b" sends a final without chunks of "t2"
      Then the frontend receives the output of "t2"
      When agent "a" sends a final without chunks of "t1"
      Then the frontend receives the output of "t1"

    @RT-050 @RT-098 @RT-099 @RT-2-03
    Scenario: a cancel stops one of two speaking agents
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" runs at agent "b"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "b" sends a chunk of "t2"
      Then the frontend receives the output of "t2"
      When the user cancels
      Then the agent of "t1" or of "t2" is asked to stop

    @RT-052 @RT-072 @RT-2-04
    Scenario: five turns have five different turn_ids
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then the agent that gets "t1" answers it
      When the user says "t2"
      Then the agent that gets "t2" answers it
      When the user says "t3"
      Then the agent that gets "t3" answers it
      When the user says "t4"
      Then the agent that gets "t4" answers it
      When the user says "t5"
      Then "t5" runs at agent "a"
      And the 5 turns have different turn_ids

  Rule: Transactions must be correlated by tx_id or turn_id — 这类事务必须能关联 tx_id 或 turn_id

    @RT-062 @RT-116 @RT-2-05
    Scenario: two removals are answered in reverse order
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When the user removes agent "c"
      Then SessionManager is asked to remove agent "c"
      When SessionManager says that agent "c" is removed
      Then the frontend is told that agent "c" is removed
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      And everything is handled

    @RT-062 @RT-117 @RT-2-06
    Scenario: one of two removals fails
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When the user removes agent "c"
      Then SessionManager is asked to remove agent "c"
      When SessionManager says that agent "c" could not be removed
      Then the frontend is told that agent "c" could not be removed
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      And everything is handled

    @RT-062 @RT-116 @RT-2-07
    Scenario: two removals are answered in order
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When the user removes agent "c"
      Then SessionManager is asked to remove agent "c"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      When SessionManager says that agent "c" is removed
      Then the frontend is told that agent "c" is removed
      And everything is handled

    @RT-062 @RT-127 @RT-2-08
    Scenario: two invitations are answered in reverse order
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When the user invites agent "e"
      Then SessionManager is asked to add agent "e"
      When SessionManager says that agent "e" is added
      Then the frontend is told that agent "e" is added
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      And everything is handled

    @RT-062 @RT-116 @RT-127 @RT-2-09
    Scenario: a removal and an invitation are open at once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      And everything is handled

    @RT-060 @RT-062 @RT-106 @RT-2-10
    Scenario: one removal waits for a cancel, and another does not
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      And SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed
      And everything is handled
