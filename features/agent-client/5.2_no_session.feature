@agent-client @client
Feature: 5.2 Without a session
  While no session is bound (未绑定会话时).

  @AC-094 @AC-096 @AC-5.2-01
  Scenario: an agent can be preselected while no agent is current
    Given a connected page without an agent list
    When the server lists the agents, with none current
    Then the selector is enabled
    When the user chooses "Debugger"
    And the user asks for a new session
    Then the page requests a session with the initial agent "Debugger"
