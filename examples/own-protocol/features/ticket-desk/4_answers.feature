@ticket-desk
Feature: 4 Answers

  @TD-018 @preflight-3
  Scenario: an agent answers
    Given client A has a ticket
    When client A says something
    Then client A is answered

  @TD-018 @TD-019
  Scenario: two answers in one ticket
    Given client A has a ticket
    When client A says something
    Then client A is answered
    When client A says something
    Then client A is answered
    And client A has received the end of that answer once

  @TD-020
  Scenario: the agent waits for consent
    Given client A has a ticket
    When client A says something that needs consent
    Then client A is asked for its consent
    And client A has received no part of an answer
    When client A agrees
    Then the answer of client A ends as "answered"

  @TD-021
  Scenario: the client does not consent
    Given client A has a ticket
    And client A was asked for its consent
    When client A declines
    Then the answer of client A ends as "declined"
    And client A has received no part of an answer

  @TD-022 @TD-009
  Scenario: the agent is busy, and later available again
    Given client A has a ticket
    And client A was asked for its consent
    When client A says something
    Then client A is refused with "busy"
    When client A agrees
    Then the answer of client A ends as "answered"
    When client A says something
    Then client A is answered

  @TD-022
  Scenario: another ticket is not busy
    Given client A has a ticket
    And client A was asked for its consent
    And client B has a ticket
    When client B says something
    Then client B is answered

  @TD-023
  Scenario: an answer is stopped
    Given client A has a ticket
    And client A was asked for its consent
    When client A stops its agent
    Then the answer of client A ends as "stopped"
    When client A says something
    Then client A is answered

  @TD-024 @history
  Scenario: the history of a ticket
    Given client A has a ticket
    When client A says something
    Then client A is answered
    When client A says something
    Then client A is answered
    When client A asks for the history
    Then client A receives what it has said
