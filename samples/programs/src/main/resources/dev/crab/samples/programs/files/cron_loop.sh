#!/bin/bash
# Ticks into a log. Its number and the name of the run are in no file but that.
run=$RANDOM$RANDOM$RANDOM
tick=0
while :; do
    tick=$((tick + 1))
    echo "$run $tick" >> /srv/tick.log
    sleep 0.1
done
