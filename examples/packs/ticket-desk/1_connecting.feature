@ticket-desk
Feature: 1 Connecting

  @TD-001 @TD-002 @preflight-1
  Scenario: a client is welcomed
    When client A connects
    Then client A is answered

  @TD-003
  Scenario: two connections have two ids
    Given client A is connected
    When client B connects
    Then client B is answered

  @TD-005
  Scenario: a welcome with a note, or without one
    When client A connects
    Then client A is answered

  @TD-004
  Scenario: each connection has its own numbering
    Given client A has a ticket
    And client B has a ticket
    When client A gets an answer to "say"
    And client B gets an answer to "say"
