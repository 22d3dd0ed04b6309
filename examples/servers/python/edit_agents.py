"""Adds, changes or removes a custom agent in the agents file, as a user with an editor would: hooks of the test profile.

Usage: edit_agents.py add|change|remove FILE; the agent comes from PARLEY_AGENT_ID, _NAME, _DESCRIPTION, _PROMPT, _TOOLS.
"""
import json
import os
import sys
import tomllib


def table(agent: dict) -> str:
    """One [[agents]] table. JSON strings and arrays of strings are valid TOML."""
    return "[[agents]]\n" + "".join(f"{k} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in agent.items())


def main() -> None:
    action, path = sys.argv[1:3]
    env = {k: os.environ.get("PARLEY_AGENT_" + k.upper(), "") for k in ("id", "name", "description", "prompt")}
    agent = {**env, "tools": [t for t in os.environ.get("PARLEY_AGENT_TOOLS", "").split(",") if t]}
    with open(path, "rb") as f:
        agents = tomllib.load(f).get("agents", [])
    kept = [a for a in agents if a["id"] != agent["id"]]
    if action != "remove":
        kept.append(agent)
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write("\n".join(table(a) for a in kept))
    os.replace(path + ".new", path)


main()
