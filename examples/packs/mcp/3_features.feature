@mcp
Feature: 3 Tools, resources, prompts, logging

  @MC-031 @MC-032
  Scenario: tools
    Given client A has a session
    And the scenario applies to client A where 'tools' in connection.server
    When client A gets an answer to "tools/list"
    And client A gets an answer to "tools/call"
    And client A gets an answer to "tools/call" with {"params": {"name": "no-such-tool", "arguments": {}}}

  @MC-037
  Scenario: resources
    Given client A has a session
    And the scenario applies to client A where 'resources' in connection.server
    When client A gets an answer to "resources/list"
    And client A gets an answer to "resources/read"

  @MC-038 @MC-040
  Scenario: subscribing and logging
    Given client A has a session
    And the scenario applies to client A where connection.server.resources?.subscribe == true
    And the scenario applies to client A where 'logging' in connection.server
    And client A listens
    And client A gets an answer to "resources/list"
    And client A gets an answer to "logging/setLevel" with {"params": {"level": "info"}}
    And client A gets an answer to "resources/subscribe"
    Then client A receives "notifications/message"
    When client A gets an answer to "logging/setLevel"
    And client A gets an answer to "resources/subscribe"
    And client A gets an answer to "tools/call" with {"params": {"name": "toggle-subscriber-updates", "arguments": {}}}
    And client A receives "notifications/resources/updated"

  @MC-039
  Scenario: prompts
    Given client A has a session
    And the scenario applies to client A where 'prompts' in connection.server
    When client A gets an answer to "prompts/list"
    And client A gets an answer to "prompts/get"
