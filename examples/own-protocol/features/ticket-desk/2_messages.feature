@ticket-desk
Feature: 2 Messages

  @TD-008
  Scenario: a ping is answered
    Given client A is connected
    When client A pings
    Then client A gets a pong

  @TD-006 @sse
  Scenario: a message is accepted over HTTP
    Given client A is connected
    When client A pings
    Then the message of client A is answered with status 202

  @TD-006 @TD-007 @sse
  Scenario: a refused message, too, is accepted over HTTP
    Given client A is connected
    When client A sends "nonsense"
    Then the message of client A is answered with status 202
    And client A is refused with "bad-message"

  @TD-007 @TD-009
  Scenario Outline: an invalid message is refused, and the connection stays open
    Given client A is connected
    When client A sends "<body>"
    Then client A is refused with "bad-message"
    When client A opens a ticket
    Then client A is told its ticket

    Examples:
      | body     |
      | nonsense |
      | ["open"] |
      | {}       |

  @TD-007 @TD-009
  Scenario: a message of an unknown type is refused
    Given client A is connected
    When client A sends a message of the type "no-such"
    Then client A is refused with "bad-message"
    When client A opens a ticket
    Then client A is told its ticket
