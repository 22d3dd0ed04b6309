@session-runtime @server
Feature: 0 The target has what the profile declares
  Each scenario takes the steps by which the suite's own scenarios reach a state. The clauses in its tags judge the fields of the
  messages that it receives.
  The tag that starts with @doctor names the item that a scenario is about, most often a key of the profile.

  @preflight-1
  Scenario: the bus is connected
    When the bus is connected

  @preflight-2 @RT-013
  Scenario: a session is set up
    Given a session of agents "a", "b" and "c" where agent "a" is active

  @preflight-3 @RT-075
  Scenario: an input is routed
    Given a session of agents "a", "b" and "c" where agent "a" is active
    When the user says "t1"
    Then "t1" reaches agent "a"

  @doctor-fence
  Scenario: a fence is answered
    Given a session of agents "a", "b" and "c" where agent "a" is active
    Then the answer to a fence follows everything that the 5 inputs before it cause

  @doctor-accepted @RT-072 @RT-076
  Scenario: TURN_ACCEPTED has its fields
    Given a session of agents "a", "b" and "c" where agent "a" is active
    When the user says "t1"
    Then "t1" reaches agent "a"
    And "t1" is accepted

  @doctor-output @RT-015
  Scenario: an agent's output is forwarded
    Given a session of agents "a", "b" and "c" where agent "a" is active
    And agent "a" is speaking in "t1"
    When agent "a" sends the final of "t1"
    Then the frontend receives the output of "t1"

  @doctor-limits @RT-078
  Scenario: a missing acknowledgement is reported in time
    Given a short limit for acknowledgements of inputs
    And a session of agents "a", "b" and "c" where agent "a" is active
    When the user says "t1"
    Then "t1" reaches agent "a"
    And the frontend is told that "t1" has timed out

  @doctor-subscribes @RT-042
  Scenario: messages of an agent on BROADCAST are handled
    Given a session of agents "a", "b" and "c" where agent "a" is active
    When the user says "t1"
    Then "t1" reaches agent "a"
    When agent "a" acknowledges "t1" on BROADCAST
    And agent "a" sends a chunk of "t1" on BROADCAST
    Then the frontend receives the output of "t1"

  @doctor-cancel @RT-099 @RT-105
  Scenario: a turn is cancelled, and its agent confirms it
    Given a session of agents "a", "b" and "c" where agent "a" is active
    And agent "a" is speaking in "t1"
    When the user cancels
    Then agent "a" is asked to stop "t1"
    When agent "a" confirms the cancel of "t1"
    Then the frontend is told that "t1" is cancelled

  @doctor-switch @RT-066
  Scenario: the user switches to another agent
    Given a session of agents "a", "b" and "c" where agent "a" is active
    When the user switches to agent "b"
    Then a switch from agent "a" to agent "b" is announced

  @doctor-add @RT-121 @RT-127
  Scenario: an agent is invited and added
    Given a session of agents "a", "b" and "c" where agent "a" is active
    When the user invites agent "d"
    Then SessionManager is asked to add agent "d"
    When SessionManager says that agent "d" is added
    Then the frontend is told that agent "d" is added

  @doctor-remove @RT-110 @RT-116
  Scenario: an agent is removed
    Given a session of agents "a", "b" and "c" where agent "a" is active
    When the user removes agent "b"
    Then SessionManager is asked to remove agent "b"
    When SessionManager says that agent "b" is removed
    Then the frontend is told that agent "b" is removed

  @doctor-handover @RT-131 @RT-135
  Scenario: an agent hands over to another one
    Given a session of agents "a", "b" and "c" where agent "a" is active
    And agent "a" is speaking in "t1"
    When agent "a" ends "t1"
    And agent "a" asks to hand "t1" over to agent "b"
    Then the user is asked whether agent "b" may take over "t1"
    When the user confirms the handover of "t1"
    Then agent "b" gets the context of "t1"

  @doctor-session @RT-153 @RT-155
  Scenario: the session is closed
    Given a session of agents "a", "b" and "c" where agent "a" is active
    When the user closes the session
    Then SessionManager is asked to close the session
    When SessionManager says that the session is closed
    Then the frontend is told that the session is closed
