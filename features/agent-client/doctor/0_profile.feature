@agent-client @client
Feature: 0 The target has what the profile declares
  Each scenario takes the steps by which the suite's own scenarios get into a state. The clauses in its tags are those by which
  it is told what was expected.
  The tag that starts with @doctor names the item that a scenario is about.

  @preflight-1 @AC-025
  Scenario: the page connects
    Given an open page
    When the user connects
    Then the page requests the event stream

  @preflight-2 @AC-010 @AC-025
  Scenario: the selector offers the agents
    Given an open page
    When the user connects
    Then the page requests the event stream
    When the server sends connected
    And the server lists the agents
    Then the options are the agents

  @preflight-3 @AC-012 @AC-043 @AC-053
  Scenario: the page requests a session and a switch
    Given a connected page
    When the user asks for a new session
    Then the page requests a session
    When the user chooses "Debugger"
    Then the page requests a switch to "Debugger"

  @doctor-switch @AC-059
  Scenario: the page shows a switch
    Given a page with a session
    When the user chooses "Debugger"
    Then the page requests a switch to "Debugger"
    When the server switches to "Debugger"
    Then "Debugger" is selected

  @doctor-chat @AC-060
  Scenario: the chat announces a switch
    Given a page with a session
    When the user chooses "Debugger"
    Then the page requests a switch to "Debugger"
    When the server switches to "Debugger"
    Then the chat announces the switch from "General" to "Debugger"

  @doctor-log @AC-087
  Scenario: the log shows a list
    Given a connected page without an agent list
    When the server lists the agents
    Then the log shows the list of 3 agents, with the server's time

  @doctor-loading @AC-034 @AC-035
  Scenario: the selector looks busy during a switch
    Given a page with a session
    When the user chooses "Debugger"
    Then the page requests a switch to "Debugger"
    And the selector looks busy

  @doctor-disconnect @AC-105
  Scenario: the user disconnects
    Given a connected page
    When the user disconnects
    Then the page closes the stream

  @doctor-message
  Scenario: the user sends a message
    Given a page with a session
    And the user has sent "hello"

  @doctor-abort @AC-079
  Scenario: the user aborts
    Given a page with a session
    And the user has sent "hello"
    And the server has begun to answer, in pieces, after an echo of the message
    When the user aborts
    Then the page requests an abort

  @doctor-session-list
  Scenario: the user loads a session
    Given a page with a session
    When the user asks for a new session
    Then the page requests a session
    When the user loads the first session
    Then the page requests that session
