// Counts words in three steps, each of which may run on another machine:
//
//   words split PART PARTS   writes the lines of /in/text that belong to this part
//   words count              writes how often each word of /in/part occurs
//   words merge PARTS        adds up the counts in /in/counts/0, 1, … and writes the most frequent words
//
// Counts are lines such as "12 the".
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20, WORDS_MAX = 1 << 14, SHOWN = 12 };

typedef struct { const char *word; uint32_t count; } Entry;

static char text[TEXT_MAX + 1];
static Entry entries[WORDS_MAX];
static uint32_t used;

_Noreturn static void fail(const char *why) {
    write(STDERR_FILENO, why, strlen(why));
    exit(1);
}

static char *read_file(const char *path, char *into) { // the end of what was read
    int file = open(path, O_RDONLY);
    if (file < 0) fail("an input is missing\n");
    for (;;) {
        ssize_t got = read(file, into, (size_t)(text + TEXT_MAX - into));
        if (got < 0) fail("an input cannot be read\n");
        if (got == 0) break;
        into += got;
    }
    if (into == text + TEXT_MAX) fail("the text is too long\n");
    close(file);
    *into = '\0';
    return into;
}

static void add(const char *word, uint32_t count) {
    for (uint32_t i = 0; i < used; i++) {
        if (strcmp(entries[i].word, word) == 0) {
            entries[i].count += count;
            return;
        }
    }
    if (used == WORDS_MAX) fail("too many words\n");
    entries[used++] = (Entry){word, count};
}

static int by_count(const void *left, const void *right) { // ties by name, so that the order is always the same
    const Entry *a = left, *b = right;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return strcmp(a->word, b->word);
}

static void print(uint32_t shown) {
    qsort(entries, used, sizeof *entries, by_count);
    for (uint32_t i = 0; i < used && i < shown; i++) {
        char number[12], *at = number + sizeof number;
        uint32_t count = entries[i].count;
        *--at = ' ';
        do *--at = (char)('0' + count % 10);
        while (count /= 10);
        write(STDOUT_FILENO, at, (size_t)(number + sizeof number - at));
        write(STDOUT_FILENO, entries[i].word, strlen(entries[i].word));
        write(STDOUT_FILENO, "\n", 1);
    }
}

static void split(uint32_t part, uint32_t parts) {
    read_file("/in/text", text);
    uint32_t line = 0;
    for (char *at = text; *at != '\0'; line++) {
        char *end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) + 1 : strlen(at);
        if (line % parts == part) write(STDOUT_FILENO, at, length);
        at += length;
    }
}

static void count(void) {
    read_file("/in/part", text);
    for (char *at = text; *at != '\0';) {
        char *word = at;
        while (isalpha((unsigned char)*at) || (*at == '\'' && at > word)) {
            *at = (char)tolower((unsigned char)*at);
            at++;
        }
        char end = *at;
        *at = '\0';
        if (at > word) add(word, 1);
        if (end != '\0') at++;
    }
    print(WORDS_MAX);
}

static void merge(uint32_t parts) {
    char *end = text;
    for (uint32_t part = 0; part < parts; part++) {
        char path[] = "/in/counts/0000000000", digits[10];
        uint32_t length = 0, rest = part;
        do digits[length++] = (char)('0' + rest % 10);
        while (rest /= 10);
        for (uint32_t i = 0; i < length; i++) path[11 + i] = digits[length - 1 - i];
        path[11 + length] = '\0';
        end = read_file(path, end);
    }
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *word;
        uint32_t number = (uint32_t)strtoul(line, &word, 10);
        if (*word == ' ') add(word + 1, number);
    }
    print(SHOWN);
}

int main(int arguments, char **argument) {
    const char *step = arguments > 1 ? argument[1] : "";
    uint32_t first = arguments > 2 ? (uint32_t)strtoul(argument[2], NULL, 10) : 0;
    uint32_t parts = arguments > 3 ? (uint32_t)strtoul(argument[3], NULL, 10) : 0;
    if (strcmp(step, "split") == 0 && parts > 0) split(first, parts);
    else if (strcmp(step, "count") == 0) count();
    else if (strcmp(step, "merge") == 0 && first > 0) merge(first);
    else fail("usage: words split PART PARTS | count | merge PARTS\n");
    return 0;
}
