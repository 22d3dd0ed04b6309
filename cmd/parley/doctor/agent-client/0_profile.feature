@agent-client @client
Feature: 0 What a profile declares is there
  Each scenario takes the steps by which the suite's own scenarios get into a state. The clauses in its tags are those by which
  it is told what was expected.
  The tag that starts with @doctor names the item that a scenario is about.

  @preflight-1 @AC-025
  Scenario: the page connects
    Given a page
    When the user connects
    Then the page asks for the events

  @preflight-2 @AC-010 @AC-025
  Scenario: the agents are in the selector
    Given a page
    When the user connects
    Then the page asks for the events
    When the server says that the page is connected
    And the server lists the agents
    Then the options are the agents

  @preflight-3 @AC-012 @AC-043 @AC-053
  Scenario: a session is asked for, and a switch
    Given a page that is connected
    When the user asks for a new session
    Then the page asks for a session
    When the user chooses "Debugger"
    Then the page asks to switch to "Debugger"

  @doctor-switch @AC-059
  Scenario: a switch is shown
    Given a page with a session
    When the user chooses "Debugger"
    Then the page asks to switch to "Debugger"
    When the server switches to "Debugger"
    Then "Debugger" is selected

  @doctor-chat @AC-060
  Scenario: a switch is told in the chat
    Given a page with a session
    When the user chooses "Debugger"
    Then the page asks to switch to "Debugger"
    When the server switches to "Debugger"
    Then the chat tells of a switch from "General" to "Debugger"

  @doctor-log @AC-087
  Scenario: a list is logged
    Given a page that is connected, and has no list
    When the server lists the agents
    Then the log has the list of 3 agents, with the server's time

  @doctor-loading @AC-034 @AC-035
  Scenario: the selector looks busy during a switch
    Given a page with a session
    When the user chooses "Debugger"
    Then the page asks to switch to "Debugger"
    And the selector looks busy

  @doctor-disconnect @AC-105
  Scenario: the user disconnects
    Given a page that is connected
    When the user disconnects
    Then the page has closed the stream

  @doctor-message
  Scenario: the user sends a message
    Given a page with a session
    And the user has sent "hello"

  @doctor-abort @AC-079
  Scenario: the user aborts
    Given a page with a session
    And the user has sent "hello"
    And the server has begun to answer, in pieces, behind what the user has said
    When the user aborts
    Then the page asks to abort

  @doctor-session-list
  Scenario: the user loads a session
    Given a page with a session
    When the user asks for a new session
    Then the page has another session
    When the user loads the first session
    Then the page asks to load it
