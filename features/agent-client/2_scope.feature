@agent-client @client
Feature: 2 Scope

  Rule: 不涉及多会话同时切换的复杂场景

    @AC-017 @AC-051 @AC-055
    Scenario: two pages, each with a session of its own
      Given a page with a session
      And a second page with a session
      When on the first page
      And the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger"
      Then "Debugger" is selected
      When on the second page
      Then "General" is still selected
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then the chat tells of a switch from "General" to "Code Reviewer"
      When on the first page
      Then "Debugger" is still selected

    @AC-017 @AC-034 @AC-036
    Scenario: two pages that switch at once
      Given a page with a session
      And a second page with a session
      When the user chooses "Code Reviewer"
      Then the page asks to switch to "Code Reviewer"
      When on the first page
      And the user chooses "Debugger"
      Then the page asks to switch to "Debugger"
      When the server switches to "Debugger"
      Then the selector is enabled
      And "Debugger" is selected
      When on the second page
      Then the selector is still disabled
      When the server switches to "Code Reviewer"
      Then the selector is enabled
      And "Code Reviewer" is selected
