# Many units, and a program that adds up what they return.
UNITS := $(shell seq 1 16)
OBJECTS := $(UNITS:%=build/unit%.o)

build/sum: $(OBJECTS) build/main.o
	gcc -o $@ $^

build/main.c: | build
	{ for i in $(UNITS); do echo "int unit$$i(void);"; done; echo "#include <stdio.h>"; echo "int main(void) {"; \
	  echo "int sum = 0;"; for i in $(UNITS); do echo "sum += unit$$i();"; done; echo "printf(\"%d\", sum); return 0; }"; } > $@

build/unit%.c: | build
	{ for i in $$(seq 150); do echo "static int f$$i(int x) { int s = 0; for (int i = 0; i < x; i++) s += (i * $$i) ^ (s >> 3); return s; }"; done; \
	  echo "int unit$*(void) { int s = 0;"; for i in $$(seq 150); do echo "s += f$$i(0);"; done; echo "return s + $*; }"; } > $@

build:
	mkdir -p build

%.o: %.c
	gcc -O2 -c -o $@ $<
