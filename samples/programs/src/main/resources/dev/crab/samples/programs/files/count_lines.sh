#!/bin/bash
# Numbers what it reads.
count=0
while read -r line; do
    count=$((count + 1))
    echo "$count $line"
done
