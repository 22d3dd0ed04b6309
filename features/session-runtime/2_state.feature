@session-runtime @server
Feature: 2 What the orchestrator keeps
  必须有三类状态: 基本会话状态, inflight, 编排事务

  Rule: 以 turn_id 为 key

    @RT-002 @RT-052 @RT-053 @RT-055 @RT-141 @RT-142
    Scenario: chunks of two agents at once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" runs at agent "b"
      When agent "a" sends a chunk of "t1"
      Then the frontend gets what was sent of "t1"
      When agent "b" sends a chunk of "t2"
      Then the frontend gets what was sent of "t2"
      When agent "a" sends a chunk of "t1"
      Then the frontend gets what was sent of "t1"
      When agent "b" ends "t2"
      And agent "a" ends "t1"

    @RT-052
    Scenario: two turns that are acknowledged the other way round
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" reaches agent "b"
      When agent "b" acknowledges "t2"
      And agent "a" acknowledges "t1"
      And agent "b" sends a final alone of "t2"
      Then the frontend gets what was sent of "t2"
      When agent "a" sends a final alone of "t1"
      Then the frontend gets what was sent of "t1"

    @RT-050 @RT-098 @RT-099
    Scenario: one of two speakers is asked to stop
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" runs at agent "b"
      When agent "a" sends a chunk of "t1"
      Then the frontend gets what was sent of "t1"
      When agent "b" sends a chunk of "t2"
      Then the frontend gets what was sent of "t2"
      When the user cancels
      Then one of "t1" and "t2" is to stop

    @RT-052 @RT-072
    Scenario: five turns have five turn_ids
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When agent "a" sends a final alone of "t1"
      And the user says "t2"
      Then "t2" runs at agent "a"
      When agent "a" sends a final alone of "t2"
      And the user says "t3"
      Then "t3" runs at agent "a"
      When agent "a" sends a final alone of "t3"
      And the user says "t4"
      Then "t4" runs at agent "a"
      When agent "a" sends a final alone of "t4"
      And the user says "t5"
      Then "t5" runs at agent "a"
      And everything is handled

  Rule: 这类事务必须能关联 tx_id 或 turn_id

    @RT-062 @RT-116
    Scenario: two removals, answered the other way round
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When the user removes agent "c"
      Then SessionManager is asked to remove agent "c"
      When SessionManager says that agent "c" is removed
      Then the frontend hears that agent "c" is removed
      When SessionManager says that agent "b" is removed
      Then the frontend hears that agent "b" is removed
      And everything is handled

    @RT-062 @RT-117
    Scenario: of two removals one fails
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When the user removes agent "c"
      Then SessionManager is asked to remove agent "c"
      When SessionManager says that agent "c" could not be removed
      Then the frontend hears that agent "c" could not be removed
      When SessionManager says that agent "b" is removed
      Then the frontend hears that agent "b" is removed
      And everything is handled

    @RT-062 @RT-116
    Scenario: two removals, answered in their order
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When the user removes agent "c"
      Then SessionManager is asked to remove agent "c"
      When SessionManager says that agent "b" is removed
      Then the frontend hears that agent "b" is removed
      When SessionManager says that agent "c" is removed
      Then the frontend hears that agent "c" is removed
      And everything is handled

    @RT-062 @RT-127
    Scenario: two invitations, answered the other way round
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When the user invites agent "e"
      Then SessionManager is asked to add agent "e"
      When SessionManager says that agent "e" is added
      Then the frontend hears that agent "e" is added
      When SessionManager says that agent "d" is added
      Then the frontend hears that agent "d" is added
      And everything is handled

    @RT-062 @RT-116 @RT-127
    Scenario: a removal beside an invitation
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added
      Then the frontend hears that agent "d" is added
      When SessionManager says that agent "b" is removed
      Then the frontend hears that agent "b" is removed
      And everything is handled

    @RT-060 @RT-062 @RT-106
    Scenario: a removal that waits beside one that need not
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend hears that agent "b" is removed
      When agent "a" confirms the cancel of "t1"
      Then the frontend hears that "t1" is cancelled
      And SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend hears that agent "a" is removed
      And everything is handled
