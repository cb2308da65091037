"""Bridges to Python agent frameworks: one optional module each. Nothing of a framework is imported until its bridge is."""
