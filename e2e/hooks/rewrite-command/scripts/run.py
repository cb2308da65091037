#!/usr/bin/env python3
"""Lets `touch after-word` run instead of `touch before-word`."""

import json
import sys

tool_input = json.load(sys.stdin)["tool_input"]
tool_input["command"] = tool_input["command"].replace("touch before-word", "touch after-word")
json.dump({"modified_input": tool_input}, sys.stdout)
