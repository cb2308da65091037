#!/usr/bin/env python3
"""Says which word a command is refused for."""

import json
import re
import sys

word = re.search("refused-(middle|below|outside|once)", json.load(sys.stdin)["tool_input"]["command"])
sys.stderr.write(f"refused for the end-to-end proof: marker-commands-e04b {word and word[1]}\n")
sys.exit(2)
