@ticket-desk
Feature: 3 Tickets

  @TD-011 @preflight-2
  Scenario: a ticket is opened
    Given client A is connected
    When client A gets an answer to "open"

  @TD-012
  Scenario: no two tickets have the same id
    Given client A has a ticket
    And client B has a ticket
    When client A gets an answer to "open"

  @TD-013 @TD-009
  Scenario Outline: a message about a ticket that does not exist
    Given client A has a ticket
    When client A sends "<message>" with {"ticket": "none-${nonce}"}
    Then client A is answered
    When client A gets an answer to "say"

    Examples:
      | message |
      | say     |
      | stop    |
      | close   |

  @TD-013
  Scenario: a message about a ticket of another client
    Given client A has a ticket
    And client B has a ticket
    When client B gets an answer to "say" with {"ticket": "${A.ticket}"}
    And client A gets an answer to "say"

  @TD-014
  Scenario: no other client receives messages about a ticket
    Given client B is connected
    And client A has a ticket
    When client A gets an answer to "say"
    And everything is handled

  @TD-015 @TD-016
  Scenario: a closed ticket
    Given client A has a ticket
    When client A gets an answer to "say"
    And client A gets an answer to "close"
    And client A gets an answer to "say"

  @TD-015 @TD-017
  Scenario: a ticket is closed while its agent waits
    Given client A has a ticket
    And client A was asked for its consent
    When client A gets an answer to "close"
    And everything is handled
