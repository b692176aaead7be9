"""Which module implements which kind of tool. Loaded when a tool of that kind is used."""

from __future__ import annotations

# ``source`` in the configuration -> "module:Class".
KINDS = {
    "command": "jpq.tools.command:CommandTool",
    "python": "jpq.tools.python_function:PythonTool",
    "http": "jpq.tools.http:HttpTool",
}

# The tools that jpq brings, offered only when named.
BUILTINS = {
    "shell": "jpq.tools.builtin.shell:ShellTool",
    "read_file": "jpq.tools.builtin.read_file:ReadFileTool",
    "write_file": "jpq.tools.builtin.write_file:WriteFileTool",
    "edit_file": "jpq.tools.builtin.edit_file:EditFileTool",
    "list_files": "jpq.tools.builtin.list_files:ListFilesTool",
    "search_files": "jpq.tools.builtin.search_files:SearchFilesTool",
    "fetch_url": "jpq.tools.builtin.fetch_url:FetchUrlTool",
    "ask_user": "jpq.tools.builtin.ask_user:AskUserTool",
}
