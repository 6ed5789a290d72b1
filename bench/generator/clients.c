// WebSocket clients: they connect, read frames, answer pings, and look for tokens.
#define _GNU_SOURCE
#include "generator.h"
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTING, UPGRADING, OPEN, GONE };
enum { OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10 };

typedef struct {
  int fd, channel;
  uint8_t state, ready, slow;
  int64_t began;
  uint8_t *held;  // the beginning of a frame, or of the answer to the upgrade
  size_t held_bytes, held_room;
} client;

static client *all;
static int count, opened, in_flight;
static client_plan plan;
static char buffer[1 << 18];
int clients_ready, clients_open, clients_failed, clients_closed;
histogram connect_times;

void clients_begin(const client_plan *wanted) {
  plan = *wanted;
  int first = count;
  count += plan.wanted;
  all = realloc(all, count * sizeof *all);
  if (!all) fail("memory");
  memset(all + first, 0, plan.wanted * sizeof *all);
  memset(&connect_times, 0, sizeof connect_times);
  opened = first;
  in_flight = 0;
}

static void begin(int index) {
  client *c = &all[index];
  c->channel = plan.modulus > 0 ? index % plan.modulus : 0;
  c->slow = plan.slow_every > 0 && index % plan.slow_every == 0;
  c->began = now_ns();
  c->state = CONNECTING;
  c->fd = connect_to(plan.address, c->slow ? plan.receive_bytes : 0);
  in_flight++;
  watch(c->fd, EPOLLOUT, KIND_SOCKET, index, 1);
}

void clients_pump(void) {
  while (opened < count && in_flight < plan.outstanding) begin(opened++);
}

static void drop(client *c) {
  if (c->state == GONE) return;
  if (c->ready) { clients_closed++; clients_ready--; }
  else { clients_failed++; in_flight--; }
  if (c->state == OPEN) clients_open--;
  c->state = GONE;
  close(c->fd);
  free(c->held);
  c->held = NULL;
}

static void be_ready(client *c) {
  if (c->ready) return;
  c->ready = 1;
  clients_ready++;
  in_flight--;
  histogram_add(&connect_times, now_ns() - c->began);
  if (c->slow) watch(c->fd, 0, KIND_SOCKET, (int)(c - all), 0);
}

static void ask(client *c, int index) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error) { drop(c); return; }
  char path[512], request[1024];
  snprintf(path, sizeof path, plan.path, c->channel);
  int length = snprintf(request, sizeof request,
    "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n", path);
  if (send(c->fd, request, length, MSG_NOSIGNAL) != length) { drop(c); return; }
  c->state = UPGRADING;
  watch(c->fd, EPOLLIN, KIND_SOCKET, index, 0);
}

static void find_tokens(const uint8_t *from, size_t bytes) {
  const uint8_t *end = from + bytes, *at;
  while (end - from >= TOKEN_BYTES && (at = memmem(from, end - from, "BENCH-", 6)) && end - at >= TOKEN_BYTES) {
    char number[7] = { 0 }, sent[20] = { 0 };
    memcpy(number, at + 6, 6);
    memcpy(sent, at + 13, 19);
    on_token(atoll(number), atoll(sent));
    from = at + TOKEN_BYTES;
  }
}

static void answer_ping(client *c, const uint8_t *payload, size_t bytes) {
  uint8_t frame[6 + 125] = { 0x80 | OP_PONG, (uint8_t)(0x80 | bytes), 0, 0, 0, 0 };  // a mask of zeros
  memcpy(frame + 6, payload, bytes);
  if (send(c->fd, frame, 6 + bytes, MSG_NOSIGNAL) < 0) drop(c);
}

// Takes whole frames from these bytes; returns how many bytes it took.
static size_t frames(client *c, const uint8_t *bytes, size_t length) {
  size_t at = 0;
  while (length - at >= 2 && c->state == OPEN) {
    const uint8_t *head = bytes + at;
    size_t payload = head[1] & 127, head_bytes = 2;
    if (payload == 126) {
      if (length - at < 4) break;
      payload = (size_t)head[2] << 8 | head[3];
      head_bytes = 4;
    } else if (payload == 127) {
      if (length - at < 10) break;
      payload = 0;
      for (int i = 2; i < 10; i++) payload = payload << 8 | head[i];
      head_bytes = 10;
    }
    if (length - at < head_bytes + payload) break;
    at += head_bytes + payload;
    int op = head[0] & 15;
    if (op == OP_PING) answer_ping(c, head + head_bytes, payload);
    else if (op == OP_CLOSE) drop(c);
    else if (op < OP_CLOSE) {
      find_tokens(head + head_bytes, payload);
      be_ready(c);
    }
  }
  return at;
}

static void hold(client *c, const uint8_t *bytes, size_t length) {
  if (length > c->held_room) {
    c->held_room = length + 1024;
    uint8_t *room = realloc(c->held, c->held_room);
    if (!room) fail("memory");
    c->held = room;
  }
  memmove(c->held, bytes, length);
  c->held_bytes = length;
  if (length == 0) { free(c->held); c->held = NULL; c->held_room = 0; }
}

static void take(client *c, uint8_t *bytes, size_t length) {
  if (c->held_bytes > 0) {  // what was held and what came, in one piece
    size_t before = c->held_bytes;
    if (before + length > c->held_room) {
      c->held_room = before + length;
      c->held = realloc(c->held, c->held_room);
      if (!c->held) fail("memory");
    }
    memcpy(c->held + before, bytes, length);
    bytes = c->held;
    length += before;
  }
  size_t taken = 0;
  if (c->state == UPGRADING) {
    uint8_t *end = memmem(bytes, length, "\r\n\r\n", 4);
    if (end) {
      if (length < 12 || memcmp(bytes, "HTTP/1.1 101", 12)) { drop(c); return; }
      taken = end + 4 - bytes;
      c->state = OPEN;
      clients_open++;
      if (!plan.snapshot) be_ready(c);
    }
  }
  if (c->state == OPEN) taken += frames(c, bytes + taken, length - taken);
  if (c->state != GONE) hold(c, bytes + taken, length - taken);
}

void client_event(int index, uint32_t events) {
  client *c = &all[index];
  if (c->state == GONE) return;
  if (c->state == CONNECTING) { ask(c, index); return; }
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
    if (c->slow && c->ready) { if (events & (EPOLLHUP | EPOLLERR)) drop(c); return; }
    ssize_t got = recv(c->fd, buffer, sizeof buffer, 0);
    if (got > 0) take(c, (uint8_t *)buffer, got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR)) drop(c);
  }
}

void clients_close_all(void) {
  struct linger reset = { 1, 0 };  // no TIME_WAIT: thousands come again in a moment
  for (int i = 0; i < count; i++) {
    if (all[i].state == GONE || all[i].state == CONNECTING) continue;
    setsockopt(all[i].fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(all[i].fd);
    free(all[i].held);
  }
  free(all);
  all = NULL;
  count = opened = in_flight = 0;
  clients_ready = clients_open = clients_failed = clients_closed = 0;
}

void clients_pause(int paused) {
  for (int i = 0; i < count; i++)
    if (all[i].state == OPEN && !all[i].slow) watch(all[i].fd, paused ? 0 : EPOLLIN, KIND_SOCKET, i, 0);
}

// Nobody reads meanwhile, so whoever has as many once has them for good and is not asked again: to ask thousands every
// time would take much of a core from what is measured.
int client_lacking(size_t bytes, int from) {
  for (int i = from; i < count; i++) {
    int waiting = 0;
    if (all[i].state != OPEN || ioctl(all[i].fd, FIONREAD, &waiting) < 0) continue;
    if ((size_t)waiting < bytes) return i;
  }
  return -1;
}

int clients_of_channel(int channel, int channels) {
  int found = 0;
  for (int i = 0; i < count; i++)
    if (all[i].state == OPEN && !all[i].slow && (plan.modulus <= 1 || channels <= 1 || all[i].channel == channel)) found++;
  return found;
}
