@session-chat @server
Feature: 0 The target has what the profile declares
  Each scenario takes the steps by which the suite's own scenarios reach a state; most judge no clause.
  The tag that begins with @doctor names the item of a scenario, in most cases a key of the profile.

  @preflight-1
  Scenario: the WebSocket opens
    When client A connects
    Then client A is connected

  @preflight-2 @SC-005
  Scenario: a chat is answered
    When client A chats with "red"
    Then client A is answered by "red"

  @preflight-3 @SC-012
  Scenario: the turn of a chat ends
    When client A chats with "red"
    Then client A is answered by "red"

  @doctor-ping @SC-037a
  Scenario: a ping is answered
    Given client A has chatted with "red"
    When client A pings
    Then client A gets a pong

  @doctor-model @model
  Scenario: a chat reaches the model stub
    Given client A has chatted with "red"

  @doctor-interrupt @model @SC-036
  Scenario: a running turn is interrupted
    Given client A has chatted with "red"
    And client A chats with "red" in a turn that is held
    When client A interrupts "red"
    Then the turn of "red" is interrupted

  @doctor-options-model @model @SC-033a
  Scenario: the model named in options reaches the model stub
    Given the target uses the model named in options
    When client A chats with "red" with the model "parley-model-one"
    Then client A is answered by "red"
    And the model of "red" was "parley-model-one"

  @doctor-idle
  Scenario: an idle session continues after the target has removed it from memory
    Given client A has chatted with "red"
    When "red" is idle for longer than the target keeps idle sessions
    Then client A has chatted with "red"

  @doctor-restart @exclusive
  Scenario: a session continues after the target is restarted
    Given client A has chatted with "red"
    When the target is restarted
    Then client A has chatted with "red"
