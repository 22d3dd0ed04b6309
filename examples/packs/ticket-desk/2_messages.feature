@ticket-desk
Feature: 2 Messages

  @TD-006 @TD-008
  Scenario: a ping is answered
    Given client A is connected
    When client A gets an answer to "ping"

  @TD-007 @TD-009
  Scenario Outline: an invalid message is refused, and the connection stays open
    Given client A is connected
    When client A sends the text <body>
    Then client A is answered
    When client A gets an answer to "open"

    Examples:
      | body                                 |
      | nonsense                             |
      | ["open"]                             |
      | {}                                   |
      | {"type": "no-such", "ref": "${new}"} |
