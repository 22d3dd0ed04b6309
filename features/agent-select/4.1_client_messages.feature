@agent-select @server
Feature: 4.1 The message switch_agent
  `agentId` names the agent: it is case sensitive, and matches `[a-z0-9_-]+`
  (`agentId`: 目标主代理的唯一标识符，大小写敏感，必须符合 `[a-z0-9_-]+` 格式).

  Rule: The whole agentId matches [a-z0-9_-]+ (必须符合 `[a-z0-9_-]+` 格式)

    @AS-080 @AS-4.1-01
    Scenario Outline: an id with an illegal character is refused: <kind>
      Given client A has switched to "debugger"
      When client A switches to the agent id <id>
      Then client A is refused with "invalid_agent_id_format"
      And client A receives no "agent_switched"

      Examples:
        | kind                       | id                                     |
        | leading blank              | " general"                             |
        | trailing blank             | "general "                             |
        | blanks on both sides       | "  general  "                          |
        | blank within               | "code reviewer"                        |
        | leading tab                | "\tgeneral"                            |
        | trailing newline           | "general\\n"                            |
        | leading newline            | "\\ngeneral"                            |
        | trailing carriage return   | "general\r"                            |
        | second line                | "general\\nhacker"                      |
        | no-break space             | "general\u00a0"                        |
        | zero width space           | "general\u200b"                        |
        | byte order mark            | "\ufeffgeneral"                        |
        | at sign                    | "a@b"                                  |
        | dot                        | "general.toml"                         |
        | slash                      | "../general"                           |
        | back slash                 | "..\\\\general"                          |
        | absolute path              | "/etc/passwd"                          |
        | colon                      | "main:general"                         |
        | comma                      | "general,debugger"                     |
        | star                       | "*"                                    |
        | percent escape             | "%67eneral"                            |
        | quote                      | "general'--"                           |
        | markup                     | "<b>general</b>"                       |
        | template                   | "${general}"                           |
        | NUL                        | "general\u0000"                        |
        | leading NUL                | "\u0000general"                        |
        | accented letter            | "généräl"                              |
        | Chinese                    | "通用主代理"                            |
        | Cyrillic look-alike        | "generаl"                              |
        | full width                 | "ｇｅｎｅｒａｌ"                         |
        | long s                     | "reſult"                               |
        | Arabic digits              | "agent٣"                               |
        | emoji                      | "general🙂"                            |
        | combining accent           | "general\u0301"                        |

    @AS-080 @AS-4.1-35
    Scenario Outline: an id with only white space is refused: <kind>
      Given client A has switched to "debugger"
      When client A switches to the agent id <id>
      Then client A is refused with one of "invalid_agent_id, invalid_agent_id_format"
      And client A receives no "agent_switched"

      Examples:
        | kind      | id     |
        | one blank | " "    |
        | blanks    | "   "  |
        | tab       | "\t"   |
        | newline   | "\\n"   |

    @AS-080 @AS-049 @AS-4.1-39
    Scenario Outline: every legal character is accepted: <id>
      Given client A has switched to "debugger"
      When client A switches to "<id>"
      Then client A is refused with "agent_not_found"

      Examples:
        | id                                                                |
        | abcdefghijklmnopqrstuvwxyz                                        |
        | 0123456789                                                        |
        | no_such-agent                                                     |
        | __--__                                                            |
        | 7                                                                 |
        | a-very-long-id-that-is-legal-all-the-same-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa |

    @AS-080 @AS-049 @AS-4.1-45
    Scenario: a session works after a legal id of 4000 characters
      Given client A has switched to "debugger"
      When client A switches to a legal id of 4000 characters
      Then client A is refused with one of "agent_not_found, invalid_agent_id_format"
      When client A switches to "general"
      Then client A is switched from "debugger" to "general"

  Rule: agentId is case sensitive (大小写敏感)

    @AS-079 @AS-126 @AS-4.1-46
    Scenario Outline: an id that differs only in case is refused: <id>
      Given client A has switched to "debugger"
      When client A switches to the agent id "<id>"
      Then client A is refused with "invalid_agent_id_format"
      And client A receives no "agent_switched"
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"

      Examples:
        | id                   |
        | General              |
        | GENERAL              |
        | generaL              |
        | Requirement_Analyzer |

  Rule: agentId is a string, and required (`agentId: string`)

    @AS-077 @AS-085 @AS-120 @AS-4.1-50
    Scenario Outline: an agentId that is not a string is refused: <kind>
      Given client A has switched to "debugger"
      When client A switches to the agent id <id>
      Then client A is refused with one of "invalid_agent_id, invalid_agent_id_format"
      And client A receives no "agent_switched"
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"

      Examples:
        | kind           | id                  |
        | null           | null                |
        | number         | 7                   |
        | fraction       | 1.5                 |
        | zero           | 0                   |
        | large number   | 12345678901234567890 |
        | true           | true                |
        | false          | false               |
        | list           | ["general"]         |
        | empty list     | []                  |
        | object         | {"id":"general"}    |
        | empty object   | {}                  |

    @AS-077 @AS-085 @AS-120 @AS-4.1-61
    Scenario: a missing agentId is refused
      Given client A has switched to "debugger"
      When client A sends switch_agent with the fields {}
      Then client A is refused with one of "invalid_agent_id, invalid_agent_id_format"
      And client A receives no "agent_switched"
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"

  Rule: sessionId is optional (`sessionId?: string`)

    @AS-078 @AS-116 @AC-116 @AS-4.1-62
    Scenario: a switch works with and without sessionId
      Given client A has a session
      When client A switches its session to "debugger"
      Then client A is switched from the default agent to "debugger"
      When client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"

    @AS-116 @AS-4.1-63
    Scenario: unknown fields are ignored
      Given client A has a session
      When client A sends switch_agent with the fields {"agentId":"debugger","reason":"test","nested":{"agentId":"hacker"},"AgentId":"hacker","agentid":"hacker"}
      Then client A is switched from the default agent to "debugger"

    @AS-081 @AS-4.1-64
    Scenario: a switch without sessionId acts on the session of the connection
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"

    @AS-082 @AS-097 @AS-104 @AS-127 @AS-4.1-65
    Scenario: a switch without sessionId is refused on a connection without a session
      Given client B has switched to "debugger"
      And client B has disconnected
      And client A is connected
      When client A switches to "debugger"
      Then client A is refused with "session_not_found"
      And client A receives no "agent_switched"

  Rule: A malformed message does not affect other clients (多客户端互不干扰)

    @AS-011 @two-clients @AS-4.1-66
    Scenario Outline: a malformed message of one client does not affect the others: <kind>
      Given client A has switched to "debugger"
      And client B is connected
      When client B sends the body <body>
      And client A switches to "requirement_analyzer"
      Then client A is switched from "debugger" to "requirement_analyzer"

      Examples:
        | kind             | body                                    |
        | no JSON          | not json                                |
        | cut off          | {"type":"switch_agent","agentId":       |
        | list             | [{"type":"switch_agent"}]               |
        | string           | "switch_agent"                          |
        | number           | 7                                       |
        | null             | null                                    |
        | nothing          |                                         |
        | unknown type     | {"type":"parley_unknown"}               |
        | another case     | {"type":"SWITCH_AGENT","agentId":"x"}   |
        | no type          | {"agentId":"general"}                   |
        | type null        | {"type":null}                           |
        | type number      | {"type":7}                              |
        | empty object     | {}                                      |
