@agent-select @server
Feature: 0 The target has what the profile declares
  Each scenario takes the steps by which the suite's own scenarios get into a state; nearly none judges a clause.
  The tag that starts with @doctor names the key of the profile that a scenario is about.

  @preflight-1
  Scenario: connected and agent_list
    When client A connects
    Then client A receives the list of agents
    And client A is connected

  @preflight-2
  Scenario: a session
    Given client A is connected
    When client A creates a session
    Then client A has its session

  @preflight-3
  Scenario: a switch
    Given client A has a session
    When client A switches to "debugger"
    Then client A is switched to "debugger"
    And client A has switched to "requirement_analyzer"

  @doctor-correlation @two-clients
  Scenario: two connections are distinguished
    Given client A has switched to "debugger"
    And client B has switched to "requirement_analyzer"
    And client A has switched to "requirement_analyzer"

  @doctor-initial-agent-id
  Scenario: a session with an initial agent
    Given client A is connected
    When client A creates a session with the initial agent "debugger"
    Then client A has its session

  @doctor-agents-custom
  Scenario: the first custom agent
    Given the target has a custom agent
    And client A has switched to the custom agent

  @doctor-model
  Scenario: a chat reaches the model stub
    Given client A has chatted

  @doctor-prompt @AS-047
  Scenario: the custom agent's prompt marker reaches the model stub
    Given client A has switched to the custom agent
    When client A chats
    Then client A is answered and its turn ends
    And the model of client A was given the prompt of the custom agent

  @doctor-agent-tools @AS-048
  Scenario: the custom agent's tools are offered to the model stub
    Given client A has chatted
    And client A has switched to the custom agent
    When client A chats
    Then client A is answered and its turn ends
    And the model of client A was given the tools of the custom agent

  @doctor-tools-confirm
  Scenario: the user is asked to confirm a tool
    Given client A is asked to confirm a tool
    When client A confirms
    Then the turn of client A ends

  @doctor-tools-ask
  Scenario: the user is asked a question
    Given client A is asked a question
    When client A answers
    Then the turn of client A ends

  @doctor-provoke-running-turn
  Scenario: a turn is provoked
    Given client A has a turn running

  @doctor-hooks-add-agent @exclusive
  Scenario: an agent is added, and a new connection shows it
    Given the agent "parley_doctor" has been added to the configuration

  @doctor-hooks-change-agent @exclusive
  Scenario: an agent is renamed, and a new connection shows it
    Given the agent "parley_doctor" has been added to the configuration
    When the agent "parley_doctor" is renamed in the configuration
    Then a new client is offered "parley_doctor" under its new name

  @doctor-hooks-remove-agent @exclusive
  Scenario: an agent is removed, and a new connection no longer shows it
    Given the agent "parley_doctor" has been added to the configuration
    When the agent "parley_doctor" is removed from the configuration
    Then a new client is not offered "parley_doctor"
