@external-agent
Feature: 0 What a profile declares is there
  Each scenario takes the steps by which the suite's own scenarios get into a state; nearly none judges a clause.
  The tag that starts with @doctor names the item that a scenario is about, most often a key of the profile.

  @host @relay @preflight-1 @EA-017
  Scenario: the WebSocket opens
    When agent A connects
    Then agent A is connected

  @host @preflight-2 @EA-028
  Scenario: an agent joins
    Given agent A connects
    When agent A joins
    Then agent A is told that it has joined

  @relay @preflight-2 @EA-028
  Scenario: a host joins, and an agent
    Given the host connects and joins
    And the host is told that it has joined
    When agent A joins
    Then agent A is told that it has joined

  @host @preflight-3 @EA-038 @EA-041
  Scenario: a session is started, and shows its state
    Given agent A has a session
    When agent A asks for a snapshot
    Then agent A gets a snapshot

  @relay @preflight-3 @EA-025 @EA-041
  Scenario: messages pass both ways
    Given agent A has a session
    When agent A asks for a snapshot
    Then agent A gets a snapshot

  @agent @preflight-1 @EA-017
  Scenario: the agent is started, and connects
    Given a host awaits the agent
    When the agent is started
    Then the agent connects

  @agent @preflight-2 @EA-026
  Scenario: it joins before it says anything else
    Given a host awaits the agent
    When the agent is started
    Then the agent joins

  @agent @preflight-3 @EA-103
  Scenario: it turns to the host
    Given a host awaits the agent
    When the agent is started
    Then the agent turns to the host

  @host @doctor-booking
  Scenario: the way through the booking fits
    Given agent A has a session
    Then agent A books a ticket from the first movie to the confirmation

  @host @doctor-user-says
  Scenario: what the participant is made to say is heard
    Given agent A has a session
    When the participant speaks to agent A
    Then agent A hears the participant

  @host @doctor-logs
  Scenario: the log of a session can be read
    Given agent A has a session
    And agent A says something
    When agent A ends the session
    Then agent A is told that the session has ended
    And the log of agent A's session is complete and in order

  @host @doctor-no-active-spec @EA-082
  Scenario: there is no uiSpec behind these calls
    Given agent A has a session
    When agent A makes the calls behind which no uiSpec is active
    Then agent A is refused with "NO_ACTIVE_SPEC"

  @host @doctor-tool-failure @EA-083
  Scenario: the last of these calls fails
    Given agent A has a session
    When agent A makes the calls by which a tool fails while it runs
    Then agent A is refused with "TOOL_EXECUTION_FAILED"

  @host @doctor-relay-sessions
  Scenario: a host answers in another relay session too
    Given agent A has a session
    When agent B joins the relay session "other"
    And agent B is told that it has joined
    Then agent B has a session

  @relay @doctor-folder
  Scenario: the folder in which a relay keeps its logs is there
    Then the folder of the logs is there

  @host @relay @doctor-two-agents
  Scenario: a second agent joins, and both are answered
    Given agent A has a session
    When agent B has joined
    And agent B asks for a snapshot
    Then agent B gets a snapshot
    When agent A asks for a snapshot
    Then agent A gets a snapshot

  @agent @doctor-flow
  Scenario: it goes through the flow of the host that it meets
    Given a host awaits the agent
    When the agent is started
    Then the agent comes to the end of the booking

  @agent @doctor-reconnect
  Scenario: it comes back when its connection is lost
    Given a host awaits the agent
    And the connection is lost behind call 1
    When the agent is started
    Then the agent comes back

  @host @relay @doctor-restart @exclusive
  Scenario: the target is restarted, and a session is started again
    Given agent A has a session
    When the target is restarted
    And agent A has joined
    And agent A starts a session
    Then agent A is told of the session
