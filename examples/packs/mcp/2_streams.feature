@mcp
Feature: 2 Requests and streams

  @MC-008 @MC-009 @MC-010 @MC-011 @MC-018 @MC-030
  Scenario: a request and its stream
    Given client A has a session
    When client A gets an answer to "ping"
    Then client A receives "ended"

  @MC-015
  Scenario: listening
    Given client A has a session
    When client A listens

  @MC-036
  Scenario: requests at once
    Given client A has a session
    When client A sends "ping" 5 times without waiting
    And client A sends "tools/list"
    Then the server owes nothing any more

  @MC-029
  Scenario: what is not right
    Given client A has a session
    When client A sends the text {"jsonrpc":
    Then client A is answered
    When client A gets an answer to "no/such/method"
    And client A gets an answer to "tools/call" with {"params": {}}

  @MC-012 @MC-033
  Scenario: progress
    Given client A has a session
    When client A begins something long
    Then client A receives "notifications/progress"
    And client A is answered

  @MC-019
  Scenario: a stream is cut and resumed
    Given client A has a session
    When client A begins something long
    And client A receives "notifications/progress"
    And the scenario applies to client A where event?.id != nil
    And client A keeps event.id as "last"
    And client A loses its connection
    And client A connects
    And client A gets an answer to "resume"

  @MC-014 @MC-020
  Scenario: what was lost comes later, and nothing else
    Given client A has a session
    When client A begins something long
    And client A receives "notifications/progress"
    And the scenario applies to client A where event?.id != nil
    And client A keeps event.id as "last"
    And client A loses its connection
    And client A connects
    And client A does something as long
    And client A sends "resume"
    Then client A receives "result" where it.id == "long-" + ${nonce}

  @MC-034
  Scenario: a request is cancelled
    Given client A has a session
    When client A begins something long
    And client A receives "notifications/progress"
    And client A gets an answer to "notifications/cancelled"
    And client A does something as long
