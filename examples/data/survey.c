// Reads all measurements under /in/data and looks at those of its own stations:
//
//   survey PART PARTS        the stations whose number leaves PART when divided by PARTS
//
// It writes how many measurements that are, the sum of their temperatures, the lowest and the highest of them (all in
// hundredths of a degree) and how many bytes were read to find them.
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD = 8, BUFFER = 1 << 20, PATH_BYTES = 4096 };

static uint8_t buffer[BUFFER];
static uint32_t part, parts;
static uint64_t records, bytes;
static int64_t sum;
static int32_t lowest = INT32_MAX, highest = INT32_MIN;

_Noreturn static void fail(const char *what, const char *path) {
    fprintf(stderr, "%s: %s\n", path, what);
    exit(1);
}

static void look(const uint8_t *record) {
    uint32_t station = record[0] | (uint32_t)record[1] << 8;
    if (station % parts != part) return;
    int32_t degrees = (int16_t)(record[2] | (uint32_t)record[3] << 8);
    records++;
    sum += degrees;
    if (degrees < lowest) lowest = degrees;
    if (degrees > highest) highest = degrees;
}

static void read_file(const char *path) {
    int file = open(path, O_RDONLY);
    if (file < 0) fail("cannot be opened", path);
    size_t held = 0; // the beginning of a measurement whose end comes with the next read
    for (;;) {
        ssize_t got = read(file, buffer + held, BUFFER - held);
        if (got < 0) fail("cannot be read", path);
        if (got == 0) break;
        bytes += (uint64_t)got;
        size_t end = held + (size_t)got, at = 0;
        for (; at + RECORD <= end; at += RECORD) look(buffer + at);
        held = end - at;
        memmove(buffer, buffer + at, held);
    }
    if (held != 0) fail("ends within a measurement", path);
    close(file);
}

static void read_folder(char *path) {
    DIR *folder = opendir(path);
    if (!folder) fail("cannot be opened", path);
    size_t length = strlen(path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (length + 1 + strlen(entry->d_name) >= PATH_BYTES) fail("holds a name that is too long", path);
        path[length] = '/';
        strcpy(path + length + 1, entry->d_name);
        if (entry->d_type == DT_DIR) read_folder(path);
        else read_file(path);
        path[length] = '\0';
    }
    closedir(folder);
}

int main(int arguments, char **argument) {
    part = arguments > 1 ? (uint32_t)strtoul(argument[1], NULL, 10) : 0;
    parts = arguments > 2 ? (uint32_t)strtoul(argument[2], NULL, 10) : 0;
    if (parts == 0) fail("usage: survey PART PARTS", "survey");
    char path[PATH_BYTES] = "/in/data";
    read_folder(path);
    if (records == 0) fail("has no measurement of these stations", path);
    printf("%llu %lld %d %d %llu\n", (unsigned long long)records, (long long)sum, lowest, highest,
           (unsigned long long)bytes);
    return 0;
}
