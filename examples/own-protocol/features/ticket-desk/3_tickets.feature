@ticket-desk
Feature: 3 Tickets

  @TD-011 @preflight-2
  Scenario: a ticket is opened
    Given client A is connected
    When client A opens a ticket
    Then client A is told its ticket

  @TD-012
  Scenario: no two tickets have the same id
    Given client A has a ticket
    And client B has a ticket
    When client A opens a ticket
    Then client A is told its ticket
    And no two tickets have the same id

  @TD-013 @TD-009
  Scenario Outline: a message about a ticket that does not exist
    Given client A has a ticket
    When client A sends "<message>" about a ticket that does not exist
    Then client A is refused with "unknown-ticket"
    When client A says something
    Then client A is answered

    Examples:
      | message |
      | say     |
      | stop    |
      | close   |

  @TD-013
  Scenario: a message about a ticket of another client
    Given client A has a ticket
    And client B has a ticket
    When client B says something in the ticket of client A
    Then client B is refused with "unknown-ticket"
    When client A says something
    Then client A is answered

  @TD-014
  Scenario: no other client receives messages about a ticket
    Given client B is connected
    And client A is connected
    When client A opens a ticket
    Then client A is told its ticket
    When client A says something
    Then client A is answered
    And client B has received no message about the ticket of client A

  @TD-015 @TD-016 @TD-009
  Scenario: a closed ticket
    Given client A has a ticket
    When client A says something
    Then client A is answered
    When client A closes its ticket
    Then client A is told that its ticket is closed
    When client A says something
    Then client A is refused with "closed"

  @TD-015 @TD-017
  Scenario: a ticket is closed while its agent waits
    Given client A has a ticket
    And client A was asked for its consent
    When client A closes its ticket
    Then client A is told that its ticket is closed
    And no further message about the ticket of client A arrives
