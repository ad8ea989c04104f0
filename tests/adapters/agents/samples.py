"""Settings as people have them, one file or more for each client."""

from __future__ import annotations

from typing import Final

CLAUDE_SETTINGS: Final = """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": ["Bash(npm run lint)", "Read(~/.zshrc)"],
    "deny": ["Read(./.env)"]
  },
  "env": { "BASH_DEFAULT_TIMEOUT_MS": "120000" },
  "hooks": {
    "Stop": [
      {
        "hooks": [
          { "type": "command", "command": "afplay /System/Library/Sounds/Glass.aiff" }
        ]
      }
    ],
    "PreToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [
          { "type": "command", "command": "jq -r .tool_input.file_path", "timeout": 10 }
        ]
      }
    ]
  },
  "model": "opus",
  "enabledPlugins": { "formatter@team": true }
}
"""
CLAUDE_STATE: Final = """{
  "numStartups": 412,
  "userID": "f0e1",
  "tipsHistory": { "shift-enter": 3 },
  "projects": {
    "/home/ada/app": { "allowedTools": [], "mcpServers": {}, "lastCost": 0.10 }
  },
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/"
    }
  }
}"""
CLAUDE_DESKTOP: Final = """{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"]
    }
  }
}
"""
CURSOR: Final = '{"mcpServers":{"linear":{"url":"https://mcp.linear.app/sse"}}}'
VSCODE: Final = """{
\t"inputs": [
\t\t{
\t\t\t"type": "promptString",
\t\t\t"id": "perplexity-key", // asked once
\t\t\t"password": true
\t\t}
\t],
\t"servers": {
\t\t// https://github.com/github/github-mcp-server
\t\t"Github": {
\t\t\t"url": "https://api.githubcopilot.com/mcp/",
\t\t},
\t}
}
"""
CODEX: Final = """# Codex
model = "gpt-5.1-codex"   # the large one
approval_policy = "on-request"
notify = ["notify-send", "Codex"]

[tools]
web_search = true

[mcp_servers.context7]
command = "npx"
args = [
  "-y", "@upstash/context7-mcp",  # pinned by the team
]

[mcp_servers.context7.env]
KEY = "${KEY}"

# where I let it work
[projects."/home/ada/app"]
trust_level = "trusted"
"""
GEMINI: Final = """{
  // https://geminicli.com/docs
  "ui": { "theme": "GitHub" },
  "tools": { "sandbox": "docker" }, // never without
  "mcpServers": {
    "fetch": { "command": "uvx", "args": ["mcp-server-fetch"], "timeout": 5000 }
  }
}
"""
# What each client's files hold, in the order in which `slots` names them.
FILES: Final = {
    "claude-code": (CLAUDE_SETTINGS, CLAUDE_STATE),
    "claude-desktop": (CLAUDE_DESKTOP,),
    "cursor": (CURSOR,),
    "vscode": (VSCODE,),
    "codex": (CODEX,),
    "gemini": (GEMINI,),
}
