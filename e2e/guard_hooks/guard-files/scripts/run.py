#!/usr/bin/env python3
"""Refuses files whose name begins with `forbidden-`, and says which."""

import json
import sys
from pathlib import PurePath

name = PurePath(json.load(sys.stdin)["tool_input"]["file_path"]).name
if name.startswith("forbidden-"):
    sys.stderr.write(f"refused for the end-to-end proof: marker-files-7d12 {name}\n")
    sys.exit(2)
