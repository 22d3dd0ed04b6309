@agent-client @client
Feature: 2 Scope

  Rule: Sessions switch independently of each other (不涉及多会话同时切换的复杂场景)

    @AC-017 @AC-051 @AC-055 @AC-2-01
    Scenario: successive switches on two pages do not affect each other
      Given two pages with a session each
      When the user turns to the first page
      And the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then "Debugger" is selected
      When the user turns to the second page
      Then "General" is still selected
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      When the server switches to "Code Reviewer"
      Then the chat announces the switch from "General" to "Code Reviewer"
      When the user turns to the first page
      Then "Debugger" is still selected

    @AC-017 @AC-034 @AC-036 @AC-2-02
    Scenario: concurrent switches on two pages do not affect each other
      Given two pages with a session each
      When the user chooses "Code Reviewer"
      Then the page requests a switch to "Code Reviewer"
      And the selector is disabled during the switch
      When the user turns to the first page
      And the user chooses "Debugger"
      Then the page requests a switch to "Debugger"
      When the server switches to "Debugger"
      Then the selector is enabled
      And "Debugger" is selected
      When the user turns to the second page
      Then the selector is still disabled
      When the server switches to "Code Reviewer"
      Then the selector is enabled
      And "Code Reviewer" is selected
