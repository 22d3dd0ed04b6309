@agent-client @client
Feature: 5.2 Without a session
  未绑定会话时

  @AC-094 @AC-096
  Scenario: no agent is current yet
    Given a page that is connected, and has no list
    When the server lists the agents, and none is current
    Then the selector is enabled
    When the user chooses "Debugger"
    And the user asks for a new session
    Then the page asks for a session that begins with "Debugger"
