#!/bin/sh
# The load test of a store of one's own.
export CLIENTS=${CLIENTS:-8}
RUNS=${RUNS:-5}
DURATION=30
./bench --clients "$CLIENTS" --duration "$DURATION"
