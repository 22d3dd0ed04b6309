@mcp
Feature: 1 Sessions

  @MC-001 @MC-003 @MC-021 @MC-028 @preflight-1 @preflight-2 @preflight-3
  Scenario: a session begins
    When client A has a session

  @MC-002
  Scenario: a version that was answered is supported
    Given client A has a session
    When client B is connected
    And client B sends "initialize" with
      | params | {"protocolVersion": "${A.version}", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}} |
    Then client B is answered

  @MC-002
  Scenario: a version that there is not
    Given client A is connected
    When client A sends "initialize" with
      | params | {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}} |
    Then client A is answered

  @MC-021 @MC-035
  Scenario: two sessions
    Given client A has a session
    And client B has a session
    When client A gets an answer to "ping"
    And client B gets an answer to "tools/list"
    And client A gets an answer to "tools/list"

  @MC-007 @MC-022
  Scenario: a message without the session id
    Given client A has a session
    When client A sends "ping" without the header "Mcp-Session-Id"
    Then client A is answered
    When client A sends "notifications/initialized" without the header "Mcp-Session-Id"
    Then client A is answered
    When client A gets an answer to "ping"

  @MC-023 @MC-024
  Scenario: a session ends
    Given client A has a session
    When client A gets an answer to "leave"
    And client A gets an answer to "ping"

  @MC-025 @MC-026
  Scenario: the header of the protocol version
    Given client A has a session
    When client A sends "ping" with the header "MCP-Protocol-Version: 1999-01-01"
    Then client A is answered
    When client A sends "ping" without the header "MCP-Protocol-Version"
    Then client A is answered

  @MC-027
  Scenario: a page of somebody else
    Given client A has a session
    When client A sends "ping" with the header "Origin: http://evil.example"
    Then client A is answered

  @MC-004 @MC-005 @MC-006 @MC-016 @MC-017
  Scenario: the server asks for roots
    Given client A is connected
    When client A gets an answer to "initialize"
    And client A listens
    And client A gets an answer to "notifications/initialized"
    Then client A receives "roots/list"
    When client A gets an answer to "result"
