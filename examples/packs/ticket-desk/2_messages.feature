@ticket-desk
Feature: 2 Messages

  @TD-006 @TD-008
  Scenario: a ping is answered
    Given client A is connected
    When client A sends "ping"
    Then client A is answered

  @TD-007 @TD-009
  Scenario Outline: an invalid message is refused, and the connection stays open
    Given client A is connected
    When client A sends the text <body>
    Then client A is answered
    When client A sends "open"
    Then client A is answered

    Examples:
      | body                                 |
      | nonsense                             |
      | ["open"]                             |
      | {}                                   |
      | {"type": "no-such", "ref": "${new}"} |
