// Takes one command a line on stdin and answers each with one line of JSON, when it is done.
//
//   clients ADDRESS PATH COUNT OUTSTANDING MODULUS SNAPSHOT SLOW_EVERY RECEIVE_BYTES
//   messages FILE · wires ADDRESS COUNT ANSWERED · server PID[,PID]
//   lock COUNT          the next message once everybody has the last one
//   rate COUNT PER_S    messages at a fixed rate; done when everybody has everything
//   burst COUNT BYTES   as fast as they go, unread; done when every client has that many bytes waiting
//   closed SECONDS      requests, the next one on each wire when the last is answered
//   close               every client goes
//
// A path may hold one %d: the number of the client's channel, of MODULUS channels; message i is then of channel
// i % (number of messages).
#define _GNU_SOURCE
#include "generator.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MAX_MESSAGES 1000000
#define STALL_NS 8000000000LL

static int loop, alarm_clock, pids[16], pid_count, is_measuring;
static int32_t *received;
static int64_t *sent_at, *last_at;
static int64_t first_number, next_number, last_arrival, delivered;
static histogram delivery_times;

void fail(const char *what) {
  fprintf(stderr, "generator: %s (%s)\n", what, strerror(errno));
  exit(1);
}

int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

double cpu_s(int pid) {
  if (pid == 0) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
  }
  char path[64];
  double total = 0;
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *tasks = opendir(path);
  for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
    if (entry->d_name[0] == '.') continue;
    char file[400];
    unsigned long long ns = 0;
    snprintf(file, sizeof file, "%s/%s/schedstat", path, entry->d_name);
    FILE *f = fopen(file, "r");
    if (f && fscanf(f, "%llu", &ns) == 1) total += ns / 1e9;
    if (f) fclose(f);
  }
  if (tasks) closedir(tasks);
  return total;
}

static double servers_cpu_s(void) {
  double total = 0;
  for (int i = 0; i < pid_count; i++) total += cpu_s(pids[i]);
  return total;
}

void histogram_add(histogram *h, int64_t ns) {
  uint64_t us = ns < 0 ? 0 : ns / 1000;
  int index = (int)us;
  if (us >= 64) {
    int power = 63 - __builtin_clzll(us);
    index = (power - 5) * 64 + (int)(us >> (power - 6) & 63);
  }
  if (index >= 64 * 32) index = 64 * 32 - 1;
  h->counts[index]++;
  h->total++;
  if (ns > h->max) h->max = ns;
}

double histogram_ms(const histogram *h, double quantile) {
  uint64_t wanted = (uint64_t)(quantile * h->total), seen = 0;
  for (int i = 0; i < 64 * 32; i++) {
    seen += h->counts[i];
    if (seen > wanted) return (i < 64 ? i : (double)((64ULL + i % 64) << (i / 64 - 1))) / 1000;
  }
  return h->max / 1e6;
}

void watch(int fd, uint32_t events, int kind, int index, int is_new) {
  struct epoll_event event = { .events = events, .data.u64 = (uint64_t)kind << 32 | (uint32_t)index };
  if (epoll_ctl(loop, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0) fail("epoll_ctl");
}

int connect_to(const char *address, int receive_bytes) {
  char host[64];
  const char *colon = strrchr(address, ':');
  if (!colon || (size_t)(colon - address) >= sizeof host) fail("an address is host:port");
  memcpy(host, address, colon - address);
  host[colon - address] = 0;
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1)) };
  if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || ntohl(to.sin_addr.s_addr) >> 24 != 127) fail("not loopback");
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  if (fd < 0) fail("socket");
  if (receive_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    // Segments as on a real network: those of loopback would let the kernel of the sender hold megabytes.
    int segment = 1460;
    setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS) fail("connect");
  return fd;
}

void on_token(int64_t number, int64_t sent_ns) {
  if (!is_measuring || number < first_number || number >= next_number) return;
  last_arrival = now_ns();
  histogram_add(&delivery_times, last_arrival - sent_ns);
  received[number]++;
  last_at[number] = last_arrival;
  delivered++;
}

static void turn(int timeout_ms) {
  struct epoll_event events[512];
  int count = epoll_wait(loop, events, 512, timeout_ms);
  for (int i = 0; i < count; i++) {
    int kind = events[i].data.u64 >> 32, index = (int)(uint32_t)events[i].data.u64;
    if (kind == KIND_SOCKET) client_event(index, events[i].events);
    else if (kind == KIND_WIRE) wire_event(index, events[i].events);
    else if (kind == KIND_ALARM) {
      uint64_t rings;
      if (read(alarm_clock, &rings, sizeof rings) < 0 && errno != EAGAIN) fail("timerfd");
    }
  }
}

// Ends the next turn at that moment. Looking at the clock until then would take from the server what is measured, where
// it shares this core.
static void wake_at(int64_t ns) {
  struct itimerspec at = { .it_value = { ns / 1000000000, ns % 1000000000 } };
  if (timerfd_settime(alarm_clock, TFD_TIMER_ABSTIME, &at, NULL) < 0) fail("timerfd_settime");
}

// ---------------------------------------------------------------- phases

typedef struct { double servers, own; int64_t at; } reading;
static reading begun;

static void begin_phase(void) {
  memset(&delivery_times, 0, sizeof delivery_times);
  memset(&wire_times, 0, sizeof wire_times);
  delivered = 0;
  wire_answers = wire_errors = 0;
  first_number = next_number;
  is_measuring = 1;
  begun = (reading){ servers_cpu_s(), cpu_s(0), now_ns() };
  last_arrival = begun.at;
}

static int64_t expected_of(int64_t number) {
  int channels = wires_messages();
  return clients_of_channel((int)(number % channels), channels);
}

static void report(const char *name, int64_t ended, int64_t expected) {
  histogram last = { 0 };
  for (int64_t i = first_number; i < next_number; i++) if (received[i] > 0) histogram_add(&last, last_at[i] - sent_at[i]);
  double seconds = (ended - begun.at) / 1e9;
  printf("{\"phase\":\"%s\",\"messages\":%lld,\"expected\":%lld,\"delivered\":%lld,\"seconds\":%.6f,\"serverCpu\":%.6f,"
    "\"ownCpu\":%.6f,\"median\":%.3f,\"p99\":%.3f,\"max\":%.3f,\"lastMedian\":%.3f,\"lastP99\":%.3f,"
    "\"answers\":%llu,\"errors\":%llu,\"answerMedian\":%.3f,\"answerP99\":%.3f,\"closed\":%d}\n",
    name, (long long)(next_number - first_number), (long long)expected, (long long)delivered, seconds,
    servers_cpu_s() - begun.servers, cpu_s(0) - begun.own, histogram_ms(&delivery_times, 0.5),
    histogram_ms(&delivery_times, 0.99), delivery_times.max / 1e6, histogram_ms(&last, 0.5), histogram_ms(&last, 0.99),
    (unsigned long long)wire_answers, (unsigned long long)wire_errors, histogram_ms(&wire_times, 0.5),
    histogram_ms(&wire_times, 0.99), clients_closed);
  fflush(stdout);
  is_measuring = 0;
}

static int send_next(void) {
  if (next_number >= MAX_MESSAGES) fail("too many messages in one run");
  sent_at[next_number] = now_ns();
  next_number++;  // the token may come back before the call returns
  if (wires_send(next_number - 1)) return 1;
  next_number--;
  return 0;
}

static void lock_step(int count) {
  begin_phase();
  int64_t expected = 0;
  for (int i = 0; i < count; i++) {
    int64_t number = next_number, wanted = expected_of(number), since = now_ns();
    expected += wanted;
    while (!send_next()) turn(1);
    while (received[number] < wanted && now_ns() - since < STALL_NS) turn(100);
  }
  report("lock", last_arrival, expected);
}

static void at_rate(int count, double per_second) {
  int channels = wires_messages();
  int64_t *wanted = malloc(channels * sizeof *wanted), expected = 0, base = next_number;
  for (int i = 0; i < channels && i < count; i++) wanted[(base + i) % channels] = expected_of(base + i);
  begin_phase();
  int64_t start = begun.at;
  for (int sent = 0; sent < count;) {
    int64_t due = start + (int64_t)(sent * 1e9 / per_second);
    if (now_ns() < due) { wake_at(due); turn(-1); continue; }
    if (send_next()) { expected += wanted[(base + sent) % channels]; sent++; turn(0); }
    else turn(1);  // every wire waits for its answer
  }
  int64_t progress = now_ns();
  while ((delivered < expected || !wires_idle()) && now_ns() - progress < STALL_NS) {
    int64_t before = delivered;
    turn(20);
    if (delivered != before) progress = now_ns();
  }
  free(wanted);
  report("rate", now_ns(), expected);
}

static void burst(int count, size_t bytes) {
  clients_pause(1);
  begin_phase();
  for (int i = 0; i < count; i++) while (!send_next()) turn(1);
  int lacking = 0;
  while ((lacking = client_lacking(bytes, lacking)) >= 0 && now_ns() - begun.at < STALL_NS) usleep(1000);
  report(lacking >= 0 ? "burst-incomplete" : "burst", now_ns(), 0);
  clients_pause(0);
  for (int i = 0; i < 200; i++) turn(5);
}

static void closed_loop(double seconds) {
  begin_phase();
  wires_keep_sending(1);
  int64_t end = begun.at + (int64_t)(seconds * 1e9);
  while (now_ns() < end) turn(10);
  int64_t ended = now_ns();
  wires_keep_sending(0);
  report("closed", ended, 0);
  while (!wires_idle()) turn(10);
}

static void connect_clients(const client_plan *plan) {
  int target = clients_ready + plan->wanted;
  begin_phase();
  int64_t progress = begun.at;
  clients_begin(plan);
  int before = clients_ready;
  while (clients_ready + clients_failed < target && now_ns() - progress < STALL_NS) {
    clients_pump();
    turn(10);
    if (clients_ready != before) { before = clients_ready; progress = now_ns(); }
  }
  double seconds = (now_ns() - begun.at) / 1e9;
  printf("{\"phase\":\"clients\",\"ready\":%d,\"failed\":%d,\"seconds\":%.6f,\"serverCpu\":%.6f,\"ownCpu\":%.6f,"
    "\"median\":%.3f,\"p99\":%.3f}\n", clients_ready, clients_failed, seconds, servers_cpu_s() - begun.servers,
    cpu_s(0) - begun.own, histogram_ms(&connect_times, 0.5), histogram_ms(&connect_times, 0.99));
  fflush(stdout);
  is_measuring = 0;
}

static void done(void) { printf("{}\n"); fflush(stdout); }

static void command(char *line) {
  char name[32] = "", a[512] = "", b[512] = "";
  client_plan plan = { 0 };
  double number = 0;
  int x = 0, y = 0;
  sscanf(line, "%31s %511s %511s", name, a, b);
  if (!strcmp(name, "clients")) {
    plan.address = strdup(a);
    plan.path = strdup(b);
    sscanf(line, "%*s %*s %*s %d %d %d %d %d %d", &plan.wanted, &plan.outstanding, &plan.modulus, &plan.snapshot,
      &plan.slow_every, &plan.receive_bytes);
    connect_clients(&plan);
  } else if (!strcmp(name, "messages")) { wires_load(a); done(); }
  else if (!strcmp(name, "wires")) { sscanf(line, "%*s %*s %d %d", &x, &y); wires_open(a, x, y); done(); }
  else if (!strcmp(name, "server")) {
    pid_count = 0;
    for (char *pid = strtok(a, ","); pid && pid_count < 16; pid = strtok(NULL, ",")) pids[pid_count++] = atoi(pid);
    done();
  } else if (!strcmp(name, "lock")) lock_step(atoi(a));
  else if (!strcmp(name, "rate")) { sscanf(line, "%*s %d %lf", &x, &number); at_rate(x, number); }
  else if (!strcmp(name, "burst")) burst(atoi(a), strtoul(b, NULL, 10));
  else if (!strcmp(name, "closed")) closed_loop(atof(a));
  else if (!strcmp(name, "close")) { clients_close_all(); done(); }
  else fail(name);
}

int main(void) {
  loop = epoll_create1(0);
  alarm_clock = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  received = calloc(MAX_MESSAGES, sizeof *received);
  sent_at = calloc(MAX_MESSAGES, sizeof *sent_at);
  last_at = calloc(MAX_MESSAGES, sizeof *last_at);
  fcntl(0, F_SETFL, O_NONBLOCK);
  watch(0, EPOLLIN, KIND_INPUT, 0, 1);
  watch(alarm_clock, EPOLLIN, KIND_ALARM, 0, 1);
  static char line[4096];
  size_t length = 0;
  for (;;) {
    // Pings are answered while nothing is asked for.
    turn(50);
    ssize_t got = read(0, line + length, sizeof line - 1 - length);
    if (got == 0) return 0;
    if (got < 0) continue;
    length += got;
    line[length] = 0;
    for (char *end; (end = strchr(line, '\n'));) {
      *end = 0;
      command(line);
      length -= end + 1 - line;
      memmove(line, end + 1, length + 1);
    }
  }
}
