@ag-ui
Feature: 3 State, history and activities

  @AG-029 @AG-030 @AG-031
  Scenario: the state
    When client A asks "Change the state."
    Then client A has its run

  @AG-032 @AG-033
  Scenario: the messages so far
    When client A asks "List the messages."
    Then client A has its run

  @AG-034 @AG-035 @AG-036
  Scenario: an activity
    When client A asks "Show what you do."
    Then client A has its run

  @AG-037 @AG-038
  Scenario: what the protocol does not know
    When client A asks "Pass something on."
    Then client A has its run
