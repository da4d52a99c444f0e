"""Workloads, one module each: parameters, message to the rig, bytes, time, unit of the result."""
