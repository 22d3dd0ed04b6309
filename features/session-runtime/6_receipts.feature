@session-runtime @server
Feature: 6 The receipts
  最小闭环必须包含的回执（否则编排不成立）

  Rule: Each receipt advances one step — 每个回执各推进一步

    @RT-163 @RT-165 @RT-6-01
    Scenario: an invited agent speaks and hands its turn over
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      And everything is handled
      When the user mentions agent "d" in "t1" by its payload
      And agent "d" is speaking in "t1"
      And agent "d" ends "t1"
      And agent "d" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms the handover of "t1"
      Then a switch from agent "d" to agent "b" is announced
      And agent "b" gets the context of "t1"

    @RT-164 @RT-166 @RT-6-02
    Scenario: a session is opened, loses an agent, and is closed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user opens the session
      Then SessionManager is asked to open the session
      When SessionManager says that the session is opened
      Then the frontend is told that the session is opened
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      When the user closes the session
      Then SessionManager is asked to close the session
      When SessionManager says that the session is closed
      Then the frontend is told that the session is closed
