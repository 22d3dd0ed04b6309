@ag-ui
Feature: 1 Runs

  @AG-001 @AG-002 @AG-003 @AG-004 @AG-007 @preflight-1 @preflight-2 @preflight-3
  Scenario: a run begins and ends
    When client A asks "Say hello."
    Then client A has its run

  @AG-005 @AG-006
  Scenario: a run fails
    When client A asks "Fail."
    Then client A has its run

  @AG-008 @AG-009
  Scenario: a run follows another one in one stream
    When client A asks "Run twice."
    Then client A has its run

  @AG-010 @AG-011 @AG-012 @AG-013
  Scenario: steps
    When client A asks "Work in two steps."
    Then client A has its run

  @AG-039 @AG-041
  Scenario: the form of events and of the answer
    When client A asks "Say hello."
    Then client A has its run

  @AG-042
  Scenario: two runs at once
    When client A asks "Take your time."
    And client A receives "RUN_STARTED"
    And client B asks "Take your time."
    Then client A has its run
    And client B has its run

  @AG-043
  Scenario: a body that is no run input
    Given client A is connected
    When client A sends the text {"hello": "agent"}
    Then client A is answered
    When client A sends the text [
    Then client A is answered
