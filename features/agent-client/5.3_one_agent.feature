@agent-client @client
Feature: 5.3 One agent
  When there is only one agent (只有一个主代理时).

  @AC-098 @AC-099 @AC-5.3-01
  Scenario: the only agent is an enabled option
    Given a connected page without an agent list
    When the server lists "General", with "General" current
    Then the only option is "General", and it is enabled
