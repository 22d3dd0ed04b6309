@my-protocol
Feature: the first scenarios

  @preflight-1 @MP-001 @MP-002 @MP-003
  Scenario: a ping is answered
    Given client A is connected
    When client A gets an answer to "ping"

  @preflight-2 @MP-004 @MP-005
  Scenario: a client joins rooms
    Given client A is in a room
    When client A gets an answer to "join"

  @preflight-3 @MP-006
  Scenario: what is said is heard
    Given client A is in a room
    When client A gets an answer to "say"

  @MP-007
  Scenario: a room belongs to its client
    Given client A is in a room
    And client B is connected
    When client B gets an answer to "say" with {"room": "${A.room}"}
