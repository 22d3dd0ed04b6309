@ag-ui
Feature: 2 Messages and tool calls

  @AG-014 @AG-015 @AG-016 @AG-017 @AG-018 @AG-019
  Scenario: a message
    When client A asks "Say hello."
    Then client A has its run

  @AG-020
  Scenario: a message in chunks
    When client A asks "Answer in chunks."
    Then client A has its run

  @AG-021 @AG-022 @AG-023 @AG-024 @AG-025 @AG-026 @AG-027 @AG-028
  Scenario: a tool call
    When client A asks "Call a tool."
    Then client A has its run

  @AG-040
  Scenario: streams that interleave
    When client A asks "Say two things at once."
    Then client A has its run
