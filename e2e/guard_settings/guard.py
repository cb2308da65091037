#!/usr/bin/env python3
"""A guard as Claude Code documents it: refuses files whose name begins with `settings-`."""

import json
import sys
from pathlib import PurePath

name = PurePath(json.load(sys.stdin)["tool_input"]["file_path"]).name
if name.startswith("settings-"):
    sys.stderr.write(f"refused for the end-to-end proof: marker-settings-c58d {name}\n")
    sys.exit(2)
