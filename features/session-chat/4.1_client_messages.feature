@session-chat @server
Feature: 4.1 Messages of the client
  The client sends chat, interrupt and ping — 前端发送消息：chat, interrupt, ping

  Rule: A chat needs its agent_id, a string — agent_id: string, // 必填

    @SC-030 @SC-4.1-01
    Scenario: a chat without its agent_id is refused
      Given client A has chatted with "red"
      When client A sends "blue" a chat without its agent_id
      Then client A is refused
      And that message starts no session
      When client A chats with "blue"
      Then client A is answered by "blue"

    @SC-030 @SC-4.1-02
    Scenario Outline: a chat whose agent_id is <value> is refused
      Given client A has chatted with "red"
      When client A sends "blue" a chat whose agent_id is <value>
      Then client A is refused
      And that message starts no session
      When client A chats with "blue"
      Then client A is answered by "blue"

      Examples:
        | value     |
        | null      |
        | true      |
        | a number  |
        | a list    |
        | an object |

    @SC-030 @SC-4.1-07
    Scenario: a session works after a chat with an empty agent_id
      Given client A has chatted with "red"
      When client A sends "blue" a chat whose agent_id is the empty text
      Then the answer to client A is recorded
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-060 @SC-041 @SC-4.1-08
    Scenario Outline: any string is accepted as an agent_id: <key>
      When client A chats with "red" under an agent_id of <key>
      Then client A is answered by "red"
      When client A chats with "red"
      Then client A is answered by "red"

      Examples:
        | key                          |
        | capitals                     |
        | white space at its edges     |
        | Chinese                      |
        | emoji                        |
        | a path                       |
        | quotes and backslashes       |
        | digits                       |
        | digits and letters           |
        | great length                 |
        | characters of an SQL pattern |

    @SC-060 @SC-027 @model @SC-4.1-18
    Scenario Outline: similar agent_ids are different sessions: <one>, <other>
      When client A chats with "red" under an agent_id of <one>
      Then client A is answered by "red"
      When client A chats with "blue" under the agent_id of "red" with <other>
      Then client A is answered by "blue"
      And "red" and "blue" are different sessions
      And the model was sent no turn of another session for "blue"

      Examples:
        | one                | other                   |
        | capitals           | its case folded         |
        | capitals           | a blank after it        |
        | capitals           | a line break after it   |
        | capitals           | its last character gone |
        | a combining accent | its accent composed     |
        | capitals           | a wildcard in it        |
        | capitals           | a NUL after it          |
        | digits             | a zero before it        |
        | digits             | a blank before it       |
        | great length       | its last character gone |

  Rule: A chat needs its content, a string — content: string, // 必填

    @SC-031 @SC-4.1-28
    Scenario: a chat without its content is refused
      Given client A has chatted with "red"
      When client A sends "blue" a chat without its content
      Then client A is refused
      And that message starts no session
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "blue" is a new session

    @SC-031 @SC-4.1-29
    Scenario Outline: a chat whose content is <value> is refused
      Given client A has chatted with "red"
      When client A sends "blue" a chat whose content is <value>
      Then client A is refused
      And that message starts no session
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "blue" is a new session

      Examples:
        | value     |
        | null      |
        | true      |
        | a number  |
        | a list    |
        | an object |

    @SC-031 @SC-4.1-34
    Scenario: a chat without its content is refused in an existing session
      Given client A has chatted with "red"
      When client A sends "red" a chat without its content
      Then client A is refused
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

    @SC-006 @SC-031 @model @SC-4.1-35
    Scenario: a refused chat does not change the session
      Given client A has chatted with "red"
      When client A sends "red" a chat without its content
      Then client A is refused
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-031 @SC-4.1-36
    Scenario: a session works after a chat with empty content
      Given client A has chatted with "red"
      When client A sends "blue" a chat whose content is the empty text
      Then the answer to client A is recorded
      When client A chats with "red"
      Then client A is answered by "red"

  Rule: A chat may have options — options?, // 可选

    @SC-032a @SC-4.1-37
    Scenario: a chat with empty options is answered
      When client A chats with "red" with empty options
      Then client A is answered by "red"

    @SC-033 @SC-033a @model @SC-4.1-38
    Scenario: the model named in options reaches the backend
      Given the target uses the model named in options
      When client A chats with "red" with the model "parley-model-one"
      Then client A is answered by "red"
      And the model of "red" was "parley-model-one"

    @SC-033 @SC-033a @model @SC-4.1-39
    Scenario: each session uses the model named in its options
      Given the target uses the model named in options
      When client A chats with "red" with the model "parley-model-one"
      Then client A is answered by "red"
      When client A chats with "blue" with the model "parley-model-two"
      Then client A is answered by "blue"
      And the model of "blue" was "parley-model-two"
      When client A chats with "green"
      Then client A is answered by "green"
      And the model of "green" was not "parley-model-one"
      And the model of "green" was not "parley-model-two"

    @SC-033 @model @SC-4.1-40
    Scenario: a later chat of a session may name another model
      Given the target uses the model named in options
      When client A chats with "red" with the model "parley-model-one"
      Then client A is answered by "red"
      When client A chats with "red" with the model "parley-model-two"
      Then client A is answered by "red"
      And the model that was asked for "red" is recorded

    @SC-034 @SC-4.1-41
    Scenario: a chat with unknown options may be answered
      When client A chats with "red" with unknown options
      Then whether client A is answered by "red" is recorded

    @SC-032 @SC-4.1-42
    Scenario Outline: a session works after a chat whose options are <value>
      Given client A has chatted with "red"
      When client A sends a chat whose options are <value>
      Then the answer to client A is recorded
      When client A chats with "red"
      Then client A is answered by "red"

      Examples:
        | value          |
        | a number       |
        | a list         |
        | the empty text |

  Rule: Only a message of the protocol starts a session — type: "chat"

    @SC-002 @SC-029 @SC-4.1-45
    Scenario Outline: a message of <which> type starts no session
      Given client A has chatted with "red"
      When client A sends "blue" a message of <which> type
      Then the answer to client A is recorded
      And that message starts no session
      When client A chats with "red"
      Then client A is answered by "red"

      Examples:
        | which      |
        | no         |
        | an unknown |

    @SC-002 @SC-4.1-47
    Scenario Outline: <junk> starts no session
      Given client A has chatted with "red"
      When client A sends <junk>
      Then the answer to client A is recorded
      And that message starts no session
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

      Examples:
        | junk            |
        | malformed JSON  |
        | a JSON array    |
        | a JSON string   |
        | a JSON number   |
        | a JSON null     |
        | an empty text   |
        | an empty object |

    @SC-002 @SC-006 @model @SC-4.1-54
    Scenario Outline: <junk> does not change a session
      Given client A has chatted with "red"
      When client A sends <junk>
      Then the answer to client A is recorded
      When client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"

      Examples:
        | junk            |
        | malformed JSON  |
        | a JSON array    |
        | an empty object |

    @SC-029 @SC-4.1-57
    Scenario: a session works after a binary frame
      Given client A has chatted with "red"
      When client A sends a binary frame
      Then the answer to client A is recorded
      When client A chats with "red"
      Then client A is answered by "red"

  Rule: Every string is an agent_id of its own — agent_id: string

    @SC-060 @SC-027 @model @SC-4.1-58
    Scenario Outline: agent_ids that differ in other letters than those of ASCII are different sessions: <one>, <other>
      When client A chats with "red" under an agent_id of <one>
      Then client A is answered by "red"
      When client A chats with "blue" under the agent_id of "red" with <other>
      Then client A is answered by "blue"
      And "red" and "blue" are different sessions
      And the model was sent no turn of another session for "blue"

      Examples:
        | one                | other                  |
        | Chinese            | another Chinese letter |
        | emoji              | another emoji          |
        | a combining accent | its accent gone        |

    @SC-060 @SC-041 @SC-4.1-61
    Scenario Outline: <key> is an agent_id like any other
      Given client A has chatted with "blue"
      When client A chats with "red" under an agent_id of <key>
      Then client A is answered by "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" and "blue" are different sessions

      Examples:
        | key                  |
        | the word constructor |
        | the word __proto__   |
        | the word null        |

    @SC-060 @SC-027 @model @SC-4.1-64
    Scenario Outline: agent_ids that a file name would confuse are different sessions: <other>
      When client A chats with "red" under an agent_id of words with punctuation
      Then client A is answered by "red"
      When client A chats with "blue" under the agent_id of "red" with <other>
      Then client A is answered by "blue"
      And "red" and "blue" are different sessions
      And the model was sent no turn of another session for "blue"

      Examples:
        | other                       |
        | an underscore for its slash |
        | a hyphen for its slash      |
        | its slash gone              |
        | an underscore for its colon |
        | an underscore for its dot   |
