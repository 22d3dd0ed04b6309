@external-agent
Feature: 1 What is within the scope of the prototype
  外部 Agent 可读取：`uiSpec`、`messageHistory`、`toolSchema`；外部 Agent 可执行：`tool.call`、`agent.message`（仅展示/记录）

  Rule: 外部 Agent 可读取 uiSpec, messageHistory, toolSchema

    @host @relay @EA-004 @EA-005 @EA-006
    Scenario: an agent reads what the host shows
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

  Rule: 外部 Agent 可执行 tool.call

    @host @relay @EA-007 @booking
    Scenario: an agent executes a tool
      Given agent A has a session
      When agent A makes the first call of the booking
      Then agent A is told that the call went well

    @host @relay @EA-007 @booking
    Scenario: an agent books a ticket
      Given agent A has a session
      And what the host changes by itself is known to agent A
      Then agent A books a ticket from the first movie to the confirmation

  Rule: agent.message（仅展示/记录）

    @host @relay @EA-008
    Scenario: an agent says something
      Given agent A has a session
      When agent A says something
      Then agent A is not refused
      When agent A says something
      Then agent A is not refused

    @host @EA-008 @EA-008a
    Scenario: what an agent says changes nothing
      Given agent A has a session
      And what the host changes by itself is known to agent A
      When agent A says something
      Then agent A is not refused
      And the flow is as it was for agent A

    @host @EA-008 @EA-008a @booking
    Scenario Outline: what looks like a call of a tool is none
      Given agent A has a session
      And what the host changes by itself is known to agent A
      And agent A <stands>
      And agent A is told that the call went well
      When agent A says what looks like a call of "<tool>"
      Then agent A is not refused
      And the flow is as it was for agent A

      Examples:
        | tool   | stands                             |
        | next   | makes the first call of the booking |
        | prev   | books up to a call of "next"        |
        | select | makes the first call of the booking |

  Rule: Host 将用户输入通过 user.message 转发给外部 Agent

    @host @relay @EA-009
    Scenario: an agent hears what the participant says
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A hears the participant

  Rule: 会话结束时 Host 写日志并重置状态

    @host @log @EA-010 @booking
    Scenario: the log is there once the session has ended
      Given agent A has a session
      When agent A makes the first call of the booking
      And agent A is told that the call went well
      And agent A ends the session
      Then agent A is told that the session has ended
      And the log of agent A's session is complete and in order

    @host @EA-011 @booking
    Scenario: a session goes as if nothing had been done before
      Given it is known how a session goes
      And agent A leaves traces of all kinds
      When agent A ends the session
      Then agent A is told that the session has ended
      And agent A has a new session, in which nothing is left of what was done

    @host @EA-011 @booking
    Scenario: a session that is started right behind the end of another is clean
      Given it is known how a session goes
      And agent A leaves traces of all kinds
      When agent A ends the session and starts another right behind it
      Then agent A has a new session, in which nothing is left of what was done

    @host @EA-011 @booking
    Scenario: a session that ends with a call under way leaves nothing to the next one
      Given it is known how a session goes
      And agent A has a session
      When agent A makes a call, ends the session and starts another, without waiting
      Then agent A has a new session, in which nothing is left of what was done
