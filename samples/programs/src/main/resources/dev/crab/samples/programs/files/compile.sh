#!/bin/bash
# One compiler that works for seconds on one file.
{ for i in $(seq 500); do echo "int f$i(int x) { int s = 0; for (int i = 0; i < x; i++) s += (i * $i) ^ (s >> 3); return s; }"; done
  echo '#include <stdio.h>'
  echo "int main(void) { printf(\"compiled $1 %d\\n\", f1(0)); return 0; }"; } > "long-$1.c"
gcc -O2 -o "long-$1" "long-$1.c"
echo $? > "long-$1.done"
