@session-chat-folder
Feature: 1 Sessions

  Background:
    Given client A is connected

  @SF-045 @preflight-1
  Scenario: a client connects
    When client B connects
    Then client B is answered

  @SF-005 @SF-012 @SF-029 @SF-046 @SF-047 @preflight-2 @preflight-3
  Scenario: a chat is answered
    When client A chats in red

  @SF-001 @SF-002 @SF-045
  Scenario: another connection hears nothing of a session
    Given client A chats in red
    And client B is connected
    And everything is handled
    When client A chats in red
    Then everything is handled

  @SF-013
  Scenario: the example of the document
    When client A gets an answer to "chat" with {"content": "你好"}

  @SF-003 @SF-006 @SF-042 @SF-050 @SF-017
  Scenario: a session goes on
    Given client A recalls red
    And client A recalls red
    And client A recalls red
    When client A chats in red
    And client A recalls red

  @SF-050 @SF-006
  Scenario: a session knows its first turn after twelve
    Given client A chats four times in red
    And client A chats four times in red
    And client A chats four times in red
    When client A recalls red

  @SF-019 @SF-050
  Scenario: the same text again is another chat
    Given client A chats in red
    When client A gets an answer to "chat" with {"content": "[[recall again-${nonce}]]"}
    And client A gets an answer to "chat" with {"content": "[[recall again-${nonce}]]"}

  @SF-004 @SF-009 @SF-024 @SF-025 @SF-026 @SF-027 @SF-028 @SF-052 @SF-057
  Scenario: two sessions on one connection
    Given client A chats in red
    When client A recalls blue
    And client A recalls red
    And client A chats in blue
    And client A recalls red
    And client A recalls blue

  @SF-005 @SF-009 @SF-027 @SF-054 @SF-059
  Scenario: a session goes on over another connection
    Given client A chats in red
    And client B is connected
    And client B chats in blue
    When client B recalls red
    And client A recalls red
    And client B disconnects
    And client A recalls red

  @SF-005 @SF-054 @SF-059
  Scenario Outline: a session goes on after its client <leaves>
    Given client A chats in red
    And client A chats in red
    When client A <leaves>
    And client A is connected
    And client A recalls red

    Examples:
      | leaves               |
      | disconnects          |
      | loses its connection |

  @SF-054
  Scenario: the end of a connection ends no turn of another
    Given client B is connected
    And client B chats in blue
    And client A takes a while in red
    When client B disconnects
    Then the server owes nothing any more

  @SF-004 @SF-009 @SF-046
  Scenario: twelve sessions of one connection
    Given client A chats in red
    When client A chats in four sessions green1
    And client A chats in four sessions green2
    And client A recalls red

  @SF-004 @SF-021 @SF-024 @SF-041
  Scenario: a turn runs on while its connection uses other sessions
    Given client A chats in grey
    When client A holds red
    And client A chats in blue
    And client A chats in four sessions green1
    And client A chats in four sessions green2
    And client A chats in four sessions green3
    And client A chats in four sessions green4
    When client A ends red

  @SF-004 @SF-021 @SF-025 @SF-041
  Scenario Outline: a chat on another connection closes none
    Given client B is connected
    And client A chats in red
    And client A takes a while in green
    And client A takes a while in blue
    When client B sends "chat" with {"agent_id": "<session>-${nonce}"}
    Then the server owes nothing any more

    Examples:
      | session |
      | red     |
      | blue    |

  @SF-027 @SF-021 @SF-004
  Scenario: a turn of another session is running
    Given client A chats in red
    And client A sends "chat" with {"content": "[[hold ${new}]]"}
    When client A recalls blue
    And client A recalls blue
    And client A ends red

  @SF-019
  Scenario Outline: a text is passed on unchanged: <what>
    When client A gets an answer to "chat" with {"content": <text>}
    And client A gets an answer to "chat" with {"content": <text>}

    Examples:
      | what          | text                                                                                             |
      | edges         | "  \\n [[echo ${new}]] Big   Letters \t\r\\n "                                                     |
      | markup        | "[[echo ${new}]] <b>&lt;it's&gt;</b> \"q\" \\\\n \\\\ $HOME {0} %s"                                  |
      | controls      | "[[echo ${new}]] a\u0000b\u0007c\r\\nd\\n\\ne"                                                      |
      | other scripts | "[[echo ${new}]] e\u0301 \u00e9 \uff21\ufb01 \ud83d\ude00 \ud83d\udc69\u200d\ud83d\udcbb \u4f60" |
      | JSON          | "{\"b\": 1,  \"a\": \"[[echo ${new}]] \"}"                                                       |
      | a command     | "/help [[echo ${new}]]"                                                                          |
      | letters       | "[[echo ${new}]] ABC"                                                                            |
      | an end        | "[[echo ${new}]] line\\n"                                                                         |

  @SF-019 @SF-020
  Scenario: a long text is passed on unchanged
    Given client A gets an answer to "chat" with {"agent_id": "blue-${nonce}", "content": "[[stream ${new} 3500]]"}
    When client A gets an answer to "chat" with {"content": "[[echo ${new}]] ${answer}"}
