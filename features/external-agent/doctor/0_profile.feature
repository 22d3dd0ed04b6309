@external-agent
Feature: 0 The target has what the profile declares
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
  Scenario: a host and an agent join
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
  Scenario: messages pass in both directions
    Given agent A has a session
    When agent A asks for a snapshot
    Then agent A gets a snapshot

  @agent @preflight-1 @EA-017
  Scenario: the agent is started, and connects
    Given a host awaits the agent
    When the agent is started
    Then the agent connects

  @agent @preflight-2 @EA-026
  Scenario: the agent joins before it sends anything else
    Given a host awaits the agent
    When the agent is started
    Then the agent joins

  @agent @preflight-3 @EA-103
  Scenario: the agent sends the host a message
    Given a host awaits the agent
    When the agent is started
    Then the agent sends the host a message

  @host @doctor-booking
  Scenario: the booking path of the profile fits the host
    Given agent A has a session
    Then agent A books a ticket from the first movie to the confirmation

  @host @doctor-user-says
  Scenario: the participant's message reaches the agent
    Given agent A has a session
    When the participant speaks to agent A
    Then agent A receives the participant's message

  @host @doctor-page
  Scenario: what a person types at the host's page reaches the agent
    Given agent A has a session
    When the participant speaks to agent A
    Then agent A receives the participant's message

  @host @doctor-logs
  Scenario: the log of a session can be read
    Given agent A has a session
    And agent A sends the participant a message
    When agent A ends the session
    Then agent A is told that the session has ended
    And the log of agent A's session is complete and in order

  @host @doctor-no-active-spec @EA-082
  Scenario: no uiSpec is active after the calls in the profile
    Given agent A has a session
    When agent A makes the calls after which no uiSpec is active
    Then agent A is refused with "NO_ACTIVE_SPEC"

  @host @doctor-tool-failure @EA-083
  Scenario: the last of the calls in the profile fails
    Given agent A has a session
    When agent A makes the calls that make a tool fail at run time
    Then agent A is refused with "TOOL_EXECUTION_FAILED"

  @host @doctor-relay-sessions
  Scenario: a host answers in another relay session, too
    Given agent A has a session
    When agent B joins the relay session "other"
    And agent B is told that it has joined
    Then agent B has a session

  @relay @doctor-folder
  Scenario: the folder or file of the relay's logs exists
    Then the log folder exists

  @host @relay @doctor-two-agents
  Scenario: a second agent joins, and both are answered
    Given agent A has a session
    When agent B has joined
    And agent B asks for a snapshot
    Then agent B gets a snapshot
    When agent A asks for a snapshot
    Then agent A gets a snapshot

  @agent @doctor-flow
  Scenario: the agent completes the flow of the host of the harness
    Given a host awaits the agent
    When the agent is started
    Then the agent completes the booking

  @agent @doctor-reconnect
  Scenario: the agent reconnects when its connection is lost
    Given a host awaits the agent
    And the connection is lost after call 1
    When the agent is started
    Then the agent reconnects

  @host @relay @doctor-restart @exclusive
  Scenario: the target restarts, and a new session starts
    Given agent A has a session
    When the target is restarted
    And agent A has joined
    And agent A starts a session
    Then agent A is told that the session has started
