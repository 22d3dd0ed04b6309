@external-agent
Feature: 1 The scope of the prototype
  An external agent can read uiSpec, messageHistory and toolSchema; it can execute tool.call and agent.message.
  外部 Agent 可读取：`uiSpec`、`messageHistory`、`toolSchema`；外部 Agent 可执行：`tool.call`、`agent.message`（仅展示/记录）

  Rule: An external agent can read uiSpec, messageHistory and toolSchema (外部 Agent 可读取：`uiSpec`、`messageHistory`、`toolSchema`)

    @host @relay @EA-004 @EA-005 @EA-006 @EA-1-01
    Scenario: an agent reads what the host shows
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

  Rule: An external agent can execute tool.call (外部 Agent 可执行：`tool.call`)

    @host @relay @EA-007 @booking @EA-1-02
    Scenario: an agent executes a tool
      Given agent A has a session
      When agent A makes the first call of the booking
      Then agent A is told that the call succeeded

    @host @relay @EA-007 @booking @EA-1-03
    Scenario: an agent books a ticket
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A books a ticket from the first movie to the confirmation

  Rule: agent.message is only shown and logged (`agent.message`（仅展示/记录）)

    @host @relay @EA-008 @EA-1-04
    Scenario: an agent sends the participant messages
      Given agent A has a session
      When agent A sends the participant a message
      Then agent A's message is not refused
      When agent A sends the participant a message
      Then agent A's message is not refused

    @host @EA-008 @EA-008a @EA-1-05
    Scenario: a message to the participant does not change the booking
      Given agent A has a session
      And agent A knows what the host changes on its own
      When agent A sends the participant a message
      Then agent A's message is not refused
      And the booking flow has not changed for agent A

    @host @EA-008 @EA-008a @booking @EA-1-06
    Scenario Outline: a message that looks like a tool call executes no tool
      Given agent A has a session
      And agent A knows what the host changes on its own
      And agent A <stands>
      And agent A is told that the call succeeded
      When agent A sends the participant a message that looks like a call of "<tool>"
      Then agent A's message is not refused
      And the booking flow has not changed for agent A

      Examples:
        | tool   | stands                               |
        | next   | makes the first call of the booking  |
        | prev   | books up to the first call of "next" |
        | select | makes the first call of the booking  |

  Rule: The host forwards user input to the external agent as user.message (Host 将用户输入通过 `user.message` 转发给外部 Agent)

    @host @relay @EA-009 @EA-1-09
    Scenario: an agent receives the participant's message
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A receives the participant's message

  Rule: At the end of a session the host writes the log and resets its state (会话结束时 Host 写日志并重置状态)

    @host @log @EA-010 @booking @EA-1-10
    Scenario: the log is complete when the session has ended
      Given agent A has a session
      When agent A makes the first call of the booking
      And agent A is told that the call succeeded
      And agent A ends the session
      Then agent A is told that the session has ended
      And the log of agent A's session is complete and in order

    @host @EA-011 @booking @EA-1-11
    Scenario: a new session has no traces of the one before
      Given the states of a session are known
      And agent A fills its session with messages and tool calls
      When agent A ends the session
      Then agent A is told that the session has ended
      And agent A has a new session that contains nothing of the old one

    @host @EA-011 @booking @EA-1-12
    Scenario: a session that starts right after another has no traces of it
      Given the states of a session are known
      And agent A fills its session with messages and tool calls
      When agent A ends the session and starts another right after it
      Then agent A has a new session that contains nothing of the old one

    @host @EA-011 @booking @EA-1-13
    Scenario: a session that ends during a call leaves no traces in the next one
      Given the states of a session are known
      And agent A has a session
      When agent A makes a call, ends the session and starts another without waiting
      Then agent A has a new session that contains nothing of the old one

  Rule: Every session of a relay session has the whole scope (Host 将用户输入通过 `user.message` 转发给外部 Agent)

    @host @EA-008 @EA-1-14
    Scenario: an agent sends the participant a message in each of two sessions
      Given agent A has a session
      When agent A sends the participant a message
      Then agent A's message is not refused
      When agent A ends the session
      Then agent A is told that the session has ended
      Given agent A has a session
      When agent A sends the participant a message
      Then agent A's message is not refused

    @host @relay @EA-009 @EA-060 @EA-1-15
    Scenario: an agent receives the participant's message in each of two sessions
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A receives the participant's message
      When agent A ends the session
      Then agent A is told that the session has ended
      Given agent A has a session
      When the participant speaks to agent A
      Then agent A receives the participant's message

  Rule: Nothing of a session reaches the next one, and the first session is like every later one (会话结束时 Host 写日志并重置状态)

    @host @EA-011 @booking @EA-1-16
    Scenario Outline: a session that ends during a call of "<tool>" leaves no traces in the next one
      Given the states of a session are known
      And agent A has a session
      When agent A makes a call of "<tool>", ends the session and starts another without waiting
      Then agent A has a new session that contains nothing of the old one

      Examples:
        | tool        |
        | next        |
        | postMessage |

    @host @EA-011 @booking @exclusive @EA-1-18
    Scenario: the first session of a host is like those that follow
      Given the states of a session are known
      Then agent A has a new session that contains nothing of the old one
