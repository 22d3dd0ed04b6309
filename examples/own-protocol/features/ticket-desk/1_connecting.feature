@ticket-desk
Feature: 1 Connecting

  @TD-002 @preflight-1
  Scenario: a client is welcomed
    When client A connects
    Then client A is welcomed first

  @TD-001 @sse @connect
  Scenario: a client gets an event stream
    When client A connects
    Then client A receives an event stream

  @TD-003
  Scenario: two connections have two ids
    Given client A is connected
    When client B connects
    Then client B is welcomed first
    And clients A and B have different ids

  @TD-005
  Scenario: a welcome with a note, or without one
    When client A connects
    Then whether the welcome of client A has a note is recorded

  @TD-004
  Scenario: each connection has its own numbering
    Given client A has a ticket
    And client B has a ticket
    When client A says something
    Then client A is answered
    When client B says something
    Then client B is answered
