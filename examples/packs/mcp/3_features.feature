@mcp
Feature: 3 Tools, resources, prompts, logging

  @MC-031 @MC-032
  Scenario: tools
    Given client A has a session
    And the scenario applies to client A where 'tools' in connection.server
    When client A asks for "tools/list"
    And client A asks for "tools/call"
    And client A sends "tools/call" with {"params": {"name": "no-such-tool", "arguments": {}}}
    Then client A is answered

  @MC-037
  Scenario: resources
    Given client A has a session
    And the scenario applies to client A where 'resources' in connection.server
    When client A asks for "resources/list"
    And client A asks for "resources/read"

  @MC-038 @MC-040
  Scenario: subscribing and logging
    Given client A has a session
    And the scenario applies to client A where connection.server.resources?.subscribe == true
    And the scenario applies to client A where 'logging' in connection.server
    And client A listens
    And client A asks for "resources/list"
    When client A sends "logging/setLevel" with {"params": {"level": "info"}}
    Then client A is answered
    When client A asks for "resources/subscribe"
    Then client A receives "notifications/message"
    When client A asks for "logging/setLevel"
    And client A asks for "resources/subscribe"
    And client A sends "tools/call" with {"params": {"name": "toggle-subscriber-updates", "arguments": {}}}
    Then client A is answered
    And client A receives "notifications/resources/updated"

  @MC-039
  Scenario: prompts
    Given client A has a session
    And the scenario applies to client A where 'prompts' in connection.server
    When client A asks for "prompts/list"
    And client A asks for "prompts/get"
