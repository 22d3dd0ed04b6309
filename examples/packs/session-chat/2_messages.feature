@session-chat-folder
Feature: 2 Messages

  Background:
    Given client A is connected

  @SF-020 @SF-021 @SF-041
  Scenario: the answers of sessions that answer at once
    When client A sends "chat" with {"content": "[[stream ${new} 200]]"}
    And client A sends "chat" with {"agent_id": "blue-${nonce}", "content": "[[stream ${new} 200]]"}
    And client A sends "chat" with {"agent_id": "green-${nonce}", "content": "[[stream ${new} 200]]"}
    Then the server owes nothing any more
    And everything is handled

  @SF-020 @SF-039 @SF-040 @SF-043 @SF-044 @SF-056 @SF-038 @SF-041 @SF-042
  Scenario: three turns
    Given client A chats in red
    And everything is handled
    And client A chats in red
    And client A chats in red
    Then everything is handled

  @SF-035 @SF-036 @SF-055 @SF-020 @SF-012 @SF-038 @SF-039 @SF-040 @SF-043 @SF-044
  Scenario: a turn is interrupted
    Given client A chats in red
    And client A holds red
    When client A ends red
    And everything is handled
    When client A recalls red
    And client A recalls red

  @SF-036
  Scenario: an interrupted session goes on over another connection
    Given client A chats in red
    And client A holds red
    And client A ends red
    When client A disconnects
    And client A is connected
    Then client A recalls red

  @SF-036
  Scenario Outline: an interrupt ends no other turn: <other>
    Given client B is connected
    And client A chats in blue2
    And client B chats in green2
    And client A gets an answer to "chat" with {"agent_id": "<other>", "content": "[[hold ${new}]]"}
    And client B holds green
    When client A holds red
    And client A ends red
    And everything is handled
    When client A interrupts blue2
    Then everything is handled
    When client A gets an answer to "interrupt" with {"agent_id": "<other>"}
    When client B ends green

    Examples:
      | other         |
      | blue-${nonce} |
      | RED-${nonce}  |

  @SF-036
  Scenario: a session whose agent_id differs in case is not interrupted
    Given client A gets an answer to "chat" with {"agent_id": "RED-${nonce}"}
    And client A holds red
    When client A sends "interrupt" with {"agent_id": "RED-${nonce}"}
    Then everything is handled
    When client A ends red

  @SF-036
  Scenario: an interrupt of an idle session ends nothing
    Given client A chats in red
    And client A interrupts red
    When client A chats in red
    And client A recalls red

  @SF-002 @SF-055
  Scenario: neither an interrupt nor a ping makes a session
    When client A gets an answer to "ping"
    When client A interrupts blue
    Then everything is handled
    When client A chats in blue

  @SF-006 @SF-038 @SF-039 @SF-040 @SF-042 @SF-043 @SF-044
  Scenario: a session goes on after its model has failed
    Given client B is connected
    And client A chats in red
    And client B chats in blue
    When client A fails in red
    Then client A recalls red

  @SF-042
  Scenario: the errors of a turn while another runs
    Given client A chats in red
    And client B is connected
    When client A sends "chat" with {"content": "[[hold fail-${nonce} 300ms]][[fail fail-${nonce} 500]]"}
    And client A receives "stream"
    And client B chats in blue
    Then the server owes nothing any more

  @SF-021 @SF-041 @SF-042 @SF-057
  Scenario: a second chat during a turn
    Given client A sends "chat" with {"content": "[[hold ${new} 100ms]]"}
    When client A sends "chat"
    Then client A receives "result" where session.open == 0
    And client A recalls red
    And client A chats in red

  @SF-021 @SF-041 @SF-057
  Scenario: a second chat during a later turn
    Given client A chats in red
    And client A takes a while in red
    When client A sends "chat"
    Then client A receives "result" where session.open == 0
    And client A chats in red

  @SF-037 @SF-037a
  Scenario: pings are answered
    When client A gets an answer to "ping"
    And client A gets an answer to "ping"
    When client A chats in red
    And client A gets an answer to "ping"
    And client A recalls red

  # Alone: if a ping ends the turns of all clients, that of another scenario may come first, and is no cause known here.
  @SF-037 @SF-037a @exclusive
  Scenario: a ping ends no turn
    When client A takes a while in red
    And client A sends "ping"
    Then the server owes nothing any more

  @SF-030
  Scenario Outline: a chat without an agent_id is refused: <members>
    Given client A chats in red
    When client A gets an answer to "no-agent-id" with <members>
    And everything is handled

    Examples:
      | members               |
      | {}                    |
      | {"agent_id": null}    |
      | {"agent_id": true}    |
      | {"agent_id": 7}       |
      | {"agent_id": ["red"]} |
      | {"agent_id": {"a":1}} |

  @SF-031 @SF-042
  Scenario Outline: a chat without a content is refused: <members>
    Given client A chats in red
    When client A gets an answer to "no-content" with <members>
    And everything is handled
    When client A gets an answer to "no-content" with {"agent_id": "red-${nonce}"}
    And client A recalls red

    Examples:
      | members                                          |
      | {}                                               |
      | {"content": null}                                |
      | {"content": true}                                |
      | {"content": 7}                                   |
      | {"content": ["red"]}                             |
      | {"content": [{"type": "text", "text": "hello"}]} |
      | {"content": {"text": "hello"}}                   |

  @SF-032a
  Scenario Outline: a chat with options: <options>
    When client A gets an answer to "chat" with {"options": <options>}

    Examples:
      | options        |
      | {}             |
      | {"model": "m"} |

  @SF-033a @options-model
  Scenario: the model that options name
    When client A gets an answer to "chat" with {"options": {"model": "parley-model-one"}}
    And client A gets an answer to "chat" with {"agent_id": "blue-${nonce}", "options": {"model": "parley-model-two"}}
    When client A chats in green

  @SF-002 @SF-029
  Scenario Outline: <junk> makes no session and ends none
    Given client A chats in red
    When client A sends the text <junk>
    Then everything is handled
    When client A recalls red

    Examples:
      | junk                                                                       |
      | nonsense                                                                   |
      | "text"                                                                     |
      | {}                                                                         |
      | [{"type": "chat", "agent_id": "blue-${nonce}", "content": "hello"}]        |
      | {"agent_id": "blue-${nonce}", "content": "hello"}                          |
      | {"type": "no-such", "agent_id": "blue-${nonce}", "content": "hello"}       |

  @SF-041 @SF-060
  Scenario Outline: any text is an agent_id of its own: <one>
    When client A gets an answer to "chat" with {"agent_id": <one>}
    And client A gets an answer to "chat" with {"agent_id": <other>}
    And client A gets an answer to "chat" with {"agent_id": <one>}

    Examples:
      | one                                 | other                              |
      | "RED-${nonce}"                      | "red-${nonce}"                     |
      | "RED-${nonce} "                     | "RED-${nonce}"                     |
      | "RED-${nonce}\\n"                    | "RED-${nonce}"                     |
      | "RED-${nonce}\u0000"                | "RED-${nonce}"                     |
      | "RED-${nonce}"                      | "RED-${nonce}1"                    |
      | "RED-${nonce}1"                     | "RED-${nonce}"                     |
      | "RED-${nonce}-1"                    | "RED-${nonce}_1"                   |
      | "RED-${nonce}-1"                    | "red-${nonce}_1"                   |
      | "RED-${nonce}-1"                    | "RED%1"                            |
      | "e\u0301-${nonce}"                  | "\u00e9-${nonce}"                  |
      | "\u8d64-${nonce}"                   | "\u9752-${nonce}"                  |
      | "\ud83d\ude00-${nonce}"             | "\ud83d\ude01-${nonce}"            |
      | "a/../b-${nonce}"                   | "b-${nonce}"                       |
      | "a/b:c.d-${nonce}"                  | "a_b_c_d_${nonce}"                 |
      | "<\"'\\\\>-${nonce}"                  | "'-${nonce}"                       |
      | "12345678"                          | "012345678"                        |
      | "__proto__"                         | "constructor"                      |
      | "RED-0123456789012345678901234567890123456789012345678901234567890123456789-${nonce}" | "RED-0123456789012345678901234567890123456789012345678901234567890123456789+${nonce}" |
