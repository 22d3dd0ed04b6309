@ticket-desk
Feature: 4 Answers

  @TD-018 @preflight-3
  Scenario: an agent answers
    Given client A has a ticket
    When client A gets an answer to "say"

  @TD-018 @TD-019
  Scenario: two answers in one ticket
    Given client A has a ticket
    When client A gets an answer to "say"
    And client A gets an answer to "say"
    And everything is handled

  @TD-020
  Scenario: the agent waits for consent
    Given client A has a ticket
    And client A was asked for its consent
    And everything is handled
    When client A gets an answer to "reply"

  @TD-021
  Scenario: the client does not consent
    Given client A has a ticket
    And client A was asked for its consent
    When client A gets an answer to "reply" with {"yes": false}
    And everything is handled

  @TD-022
  Scenario: the agent is busy, and later available again
    Given client A has a ticket
    And client A was asked for its consent
    When client A gets an answer to "say"
    And client A gets an answer to "reply"
    And client A gets an answer to "say"

  @TD-022
  Scenario: another ticket is not busy
    Given client A has a ticket
    And client A was asked for its consent
    And client B has a ticket
    When client B gets an answer to "say"

  @TD-023
  Scenario: an answer is stopped
    Given client A has a ticket
    And client A was asked for its consent
    When client A gets an answer to "stop"
    And client A gets an answer to "say"

  @TD-024 @history
  Scenario: the history of a ticket
    Given client A has a ticket
    When client A gets an answer to "say"
    And client A gets an answer to "say"
    And client A gets an answer to "history"
