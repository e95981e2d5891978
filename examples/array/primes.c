// Counts the primes of one shard of the numbers:
//
//   primes SHARD SIZE      counts those from SHARD * SIZE up to, not including, (SHARD + 1) * SIZE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_MAX_HERE = 1000000 };

static char composite[SIZE_MAX_HERE];

static uint32_t count_primes(uint64_t first, uint32_t size) {
    for (uint64_t divisor = 2; divisor * divisor < first + size; divisor++) {
        uint64_t multiple = (first + divisor - 1) / divisor * divisor;
        if (multiple < divisor * divisor) multiple = divisor * divisor;
        for (; multiple < first + size; multiple += divisor) composite[multiple - first] = 1;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; i++) count += first + i >= 2 && !composite[i];
    return count;
}

static void print_line(uint32_t number) {
    char line[12];
    char *at = line + sizeof line;
    *--at = '\n';
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    write(STDOUT_FILENO, at, (size_t)(line + sizeof line - at));
}

int main(int count, char **arguments) {
    uint32_t shard = count == 3 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 0;
    uint32_t size = count == 3 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 0;
    if (size == 0 || size > SIZE_MAX_HERE) {
        static const char usage[] = "usage: primes SHARD SIZE, a size of at most 1000000\n";
        write(STDERR_FILENO, usage, strlen(usage));
        return 2;
    }
    print_line(count_primes((uint64_t)shard * size, size));
    return 0;
}
