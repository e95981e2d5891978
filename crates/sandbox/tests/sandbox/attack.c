/* A stranger's program that tries to get out. Each attack prints ESCAPED and what it got if it succeeds, and HELD with the
   reason if it does not; an attack that is meant to be killed just goes on, and one that nobody knows ends it with code 99.
   Compiled without libraries by the tests. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static void report(const char *what, const char *detail, int escaped) {
    printf("%s %s %s: %s\n", escaped ? "ESCAPED" : "HELD", what, detail, escaped ? "it worked" : strerror(errno));
    fflush(stdout);
}

static void read_file(const char *path) {
    char byte;
    int fd = open(path, O_RDONLY);
    report("read", path, fd >= 0 && read(fd, &byte, 1) == 1);
}

static void list_folder(const char *path) { report("list", path, open(path, O_RDONLY | O_DIRECTORY) >= 0); }

static void write_file(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    report("write", path, fd >= 0 && write(fd, "x", 1) == 1);
}

static void connect_unix(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    memcpy(to.sun_path, path, length < sizeof to.sun_path ? length : sizeof to.sun_path - 1);
    socklen_t size = sizeof to;
    if (path[0] == '@') {
        to.sun_path[0] = 0;
        size = offsetof(struct sockaddr_un, sun_path) + length;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    report("socket", path, fd >= 0 && connect(fd, (struct sockaddr *)&to, size) == 0);
}

static void connect_network(const char *address, const char *port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    inet_pton(AF_INET, address, &to.sin_addr);
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    if (udp >= 0) sendto(udp, "escaped", 7, 0, (struct sockaddr *)&to, sizeof to);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int failed = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to);
    if (failed && errno == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        socklen_t size = sizeof errno;
        int code = ETIMEDOUT;
        if (poll(&wait, 1, 2000) == 1) getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
        errno = code;
        failed = code != 0;
    }
    report("network", address, !failed);
}

static void foreign_memory(pid_t worker) {
    char path[64], secret[16];
    snprintf(path, sizeof path, "/proc/%d/mem", worker);
    report("memory", path, open(path, O_RDONLY) >= 0);
    snprintf(path, sizeof path, "/proc/%d/environ", worker);
    report("memory", path, open(path, O_RDONLY) >= 0);
    report("memory", "ptrace", ptrace(PTRACE_SEIZE, worker, 0, 0) == 0);
    struct iovec here = {secret, sizeof secret}, there = {(void *)0x400000, sizeof secret};
    report("memory", "process_vm_readv", process_vm_readv(worker, &here, 1, &there, 1, 0) > 0);
    report("memory", "kill", kill(worker, 0) == 0);
}

static void devices(void) {
    const char *nodes[] = {"/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/port", "/dev/sda", "/dev/vda", "/dev/loop0",
                           "/dev/loop-control", "/dev/fuse", "/dev/kvm", "/dev/tty1", "/dev/vhost-vsock", "/dev/net/tun"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) report("device", nodes[i], open(nodes[i], O_RDWR) >= 0);
    const char *places[] = {"/out/mem", "/tmp/mem", "/dev/shm/mem", "/dev/made"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int made = mknod(places[i], S_IFCHR | 0666, makedev(1, 1)) == 0;
        report("mknod", places[i], made && open(places[i], O_RDONLY) >= 0);
    }
}

/* What no call answers. */
#define UNTRIED -1000

static void unknown(const char *what, const char *name) {
    printf("UNKNOWN %s %s\n", what, name);
    fflush(stdout);
    exit(99);
}

/* A call that gets as far as its arguments was not held, although these are such that it does no harm. */
static long reached(long got) { return got < 0 && (errno == EINVAL || errno == ENOENT || errno == EFAULT || errno == EBUSY) ? 0 : got; }

static void one_call(const char *name) {
    long got = UNTRIED;
    char buffer[256] = {0};
    errno = 0;
    if (!strcmp(name, "keyctl")) got = syscall(SYS_keyctl, 0, -3, 1);
    if (!strcmp(name, "bpf")) got = reached(syscall(SYS_bpf, 0, buffer, 48));
    if (!strcmp(name, "mount")) got = mount("none", "/tmp", "tmpfs", 0, "");
    if (!strcmp(name, "unshare-user")) got = unshare(CLONE_NEWUSER);
    if (!strcmp(name, "unshare-mount")) got = unshare(CLONE_NEWNS);
    if (!strcmp(name, "clone-user")) {
        got = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
        if (got == 0) _exit(0);
    }
    if (!strcmp(name, "userfaultfd")) got = syscall(SYS_userfaultfd, O_CLOEXEC);
    if (!strcmp(name, "perf")) {
        ((int *)buffer)[1] = 128;
        got = reached(syscall(SYS_perf_event_open, buffer, 0, -1, -1, 0));
    }
    if (!strcmp(name, "kexec")) got = reached(syscall(SYS_kexec_load, 0, 1 << 20, buffer, 0));
    if (!strcmp(name, "io_uring")) got = syscall(SYS_io_uring_setup, 1, buffer);
    if (!strcmp(name, "setns")) got = setns(open("/proc/1/ns/net", O_RDONLY), 0);
    if (!strcmp(name, "ptrace")) got = ptrace(PTRACE_TRACEME, 0, 0, 0);
    if (!strcmp(name, "syslog")) got = syscall(SYS_syslog, 3, buffer, sizeof buffer);
    if (!strcmp(name, "clock")) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        got = clock_settime(CLOCK_REALTIME, &now);
    }
    if (!strcmp(name, "chroot")) got = chroot("/tmp");
    if (!strcmp(name, "pivot")) got = reached(syscall(SYS_pivot_root, "/tmp", "/tmp"));
    if (!strcmp(name, "handle")) got = reached(syscall(SYS_open_by_handle_at, AT_FDCWD, buffer, O_RDONLY));
    if (!strcmp(name, "raw")) got = socket(AF_INET, SOCK_RAW, 1);
    if (!strcmp(name, "packet")) got = socket(17, SOCK_RAW, 0);
    if (!strcmp(name, "vsock")) got = socket(40, SOCK_STREAM, 0);
    if (!strcmp(name, "netlink")) got = socket(16, SOCK_RAW, 0);
    if (!strcmp(name, "crypto")) got = socket(38, SOCK_SEQPACKET, 0);
    if (!strcmp(name, "inet")) got = socket(AF_INET, SOCK_STREAM, 0);
    /* Under the second numbering of x86, 521 is ptrace. */
    if (!strcmp(name, "x32")) got = syscall(0x40000000 + 521, PTRACE_TRACEME, 0, 0, 0);
    if (!strcmp(name, "setuid")) got = setuid(0);
    if (!strcmp(name, "reboot")) got = syscall(SYS_reboot, 0xfee1dead, 672274793, 0, 0);
    if (!strcmp(name, "tty")) got = ioctl(open("/dev/tty", O_RDWR), TIOCSTI, "x");
    if (got == UNTRIED) unknown("call", name);
    report("call", name, got >= 0);
}

static void privileges(void) {
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        unsigned long long set;
        if (sscanf(line, "CapEff: %llx", &set) == 1 || sscanf(line, "CapPrm: %llx", &set) == 1 ||
            sscanf(line, "CapBnd: %llx", &set) == 1 || sscanf(line, "CapAmb: %llx", &set) == 1) {
            line[strcspn(line, "\n")] = 0;
            report("capability", line, set != 0);
        }
        if (!strncmp(line, "NoNewPrivs:", 11)) report("new privileges", "NoNewPrivs", strchr(line, '1') == NULL);
        if (!strncmp(line, "Seccomp:", 8)) report("seccomp", "off", strchr(line, '2') == NULL);
    }
    report("user", "root", getuid() == 0 || geteuid() == 0);
    for (int fd = 3; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) {
            if (status && fd == fileno(status)) continue;
            report("handle", "inherited", 1);
        }
}

static void fill(const char *folder, int unnamed) {
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    for (int n = 0;; n++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%d", folder, n);
        int fd = open(path, O_WRONLY | O_CREAT, 0644);
        if (fd < 0) {
            report("fill", path, 0);
            exit(3);
        }
        if (unnamed) unlink(path);
        for (int i = 0; i < 4; i++)
            if (write(fd, block, sizeof block) < 0) {
                report("fill", path, 0);
                exit(3);
            }
        if (!unnamed) close(fd);
        usleep(10000);
    }
}

static void fork_bomb(void) {
    int count = 0;
    for (;;) {
        pid_t child = fork();
        if (child < 0) break;
        if (child == 0) {
            pause();
            _exit(0);
        }
        if (++count == 5000) break;
    }
    printf("FORKED %d\n", count);
    fflush(stdout);
    exit(3);
}

static void eat(void) {
    for (;;) {
        char *more = malloc(4 << 20);
        if (more) memset(more, 'x', 4 << 20);
    }
}

/* Takes all the processor time that there is. */
static void spin_everywhere(void) {
    for (int n = 0; n < 8; n++)
        if (fork() == 0) break;
    for (;;);
}

static void flood(void) {
    for (int n = 0; n < 200000; n++) puts("more and more and more");
    puts("end");
}

static void linger(const char *marker) {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            close(0), close(1), close(2);
            signal(SIGTERM, SIG_IGN), signal(SIGHUP, SIG_IGN);
            execl("/proc/self/exe", "attack", "sleep", marker, NULL);
            _exit(1);
        }
        _exit(0);
    }
    wait(NULL);
    usleep(200000);
    puts("LEFT a process");
    exit(0);
}

static void many_files(const char *folder) {
    for (int n = 0;; n++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%d", folder, n);
        close(open(path, O_WRONLY | O_CREAT, 0644));
        if (n % 100 == 0) usleep(10000);
    }
}

/* Takes memory, has a child in a session of its own, and both take no notice of being asked to end. */
static void stubborn(const char *marker) {
    static char memory[32 << 20];
    memset(memory, 'x', sizeof memory);
    signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN), signal(SIGHUP, SIG_IGN);
    if (fork() == 0) {
        setsid();
        execl("/proc/self/exe", "attack", "sleep", marker, NULL);
        _exit(1);
    }
    usleep(200000);
    puts("READY");
    fflush(stdout);
    for (;;);
}

static void tricks(void) {
    symlink("/etc/shadow", "/out/shadow");
    symlink("/", "/out/root");
    symlink("../../../../../../etc/passwd", "/out/up");
    mkfifo("/out/pipe", 0666);
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/out/socket"};
    bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof at);
    report("link", "/in/secret", link("/in/secret", "/out/linked") == 0);
    report("rename", "/in/secret", rename("/in/secret", "/out/moved") == 0);
    report("chmod", "/in/secret", chmod("/in/secret", 0777) == 0);
    int fd = open("/out/plain", O_WRONLY | O_CREAT, 06755);
    write(fd, "plain", 5);
    fchmod(fd, 06755);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    const char *known[] = {"read", "list", "write", "unix", "memory", "call", "fill", "fill-unnamed", "many-files", "stubborn",
                           "linger", "sleep", "exit", "environment", "network", "vfork", "devices", "privileges", "fork",
                           "eat", "tricks", "spin", "spin-everywhere", "flood"};
    size_t at = 0;
    while (at < sizeof known / sizeof *known && strcmp(known[at], what)) at++;
    if (at == sizeof known / sizeof *known) unknown("attack", what);
    for (int i = 2; i < count; i++) {
        if (!strcmp(what, "read")) read_file(words[i]);
        if (!strcmp(what, "list")) list_folder(words[i]);
        if (!strcmp(what, "write")) write_file(words[i]);
        if (!strcmp(what, "unix")) connect_unix(words[i]);
        if (!strcmp(what, "memory")) foreign_memory(atoi(words[i]));
        if (!strcmp(what, "call")) one_call(words[i]);
        if (!strcmp(what, "fill")) fill(words[i], 0);
        if (!strcmp(what, "fill-unnamed")) fill(words[i], 1);
        if (!strcmp(what, "many-files")) many_files(words[i]);
        if (!strcmp(what, "stubborn")) stubborn(words[i]);
        if (!strcmp(what, "linger")) linger(words[i]);
        if (!strcmp(what, "sleep")) for (;;) sleep(1000);
        if (!strcmp(what, "exit")) exit(atoi(words[i]));
        if (!strcmp(what, "environment")) report("environment", words[i], getenv(words[i]) != NULL);
    }
    if (!strcmp(what, "network") && count == 4) connect_network(words[2], words[3]);
    if (!strcmp(what, "vfork")) {
        puts("READY"), fflush(stdout);
        if (vfork() == 0) {
            usleep(500000);
            _exit(0);
        }
        for (;;) sleep(1000);
    }
    if (!strcmp(what, "devices")) devices();
    if (!strcmp(what, "privileges")) privileges();
    if (!strcmp(what, "fork")) fork_bomb();
    if (!strcmp(what, "eat")) eat();
    if (!strcmp(what, "tricks")) tricks();
    if (!strcmp(what, "spin-everywhere")) spin_everywhere();
    if (!strcmp(what, "flood")) flood();
    if (!strcmp(what, "spin")) {
        signal(SIGTERM, SIG_IGN);
        for (;;);
    }
    return 0;
}
