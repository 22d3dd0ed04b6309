@agent-client @client
Feature: 5.3 One agent
  只有一个主代理时

  @AC-098 @AC-099
  Scenario: one agent
    Given a page that is connected, and has no list
    When the server lists "General", and "General" is current
    Then the only option is "General"
    And the option is enabled
