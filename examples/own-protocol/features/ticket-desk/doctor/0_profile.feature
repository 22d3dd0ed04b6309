@ticket-desk
Feature: 0 The target has what the profile declares

  @preflight-1
  Scenario: a client is welcomed
    When client A connects
    Then client A is welcomed first

  @preflight-2
  Scenario: a ticket is opened
    Given client A has a ticket

  @preflight-3 @TD-018
  Scenario: an agent answers
    Given client A has a ticket
    When client A says something
    Then client A is answered

  @doctor-consent @TD-020
  Scenario: the agent asks for consent
    Given client A has a ticket
    And client A was asked for its consent

  @doctor-history @TD-024
  Scenario: the history can be read
    Given client A has a ticket
    When client A says something
    Then client A is answered
    When client A asks for the history
    Then client A receives what it has said
