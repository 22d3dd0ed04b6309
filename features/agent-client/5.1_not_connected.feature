@agent-client @client
Feature: 5.1 Before the page is connected
  Before the connection is established (连接未建立时).

  @connect @AC-092 @AC-093 @AC-5.1-01
  Scenario: the selector is disabled before the page is connected
    Given an open page
    Then the selector is disabled
    And the page shows "请先连接服务器"
