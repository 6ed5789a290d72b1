// The sending side: messages from a file go out over plain connections, in turn; those of HTTP wait for their answer.
#define _GNU_SOURCE
#include "generator.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct { char *bytes; size_t length; char *token; } message;
typedef struct {
  int fd, busy;
  int64_t sent;
  char head[4096];  // of the answer that is being read
  size_t head_bytes, body_left;
  const char *rest;  // of a message that did not go out at once
  size_t rest_bytes;
  char *copy;
} wire;

static message *messages;
static int message_count, wire_count, has_answers, keeps_sending, next_wire;
static wire *all;
static char buffer[1 << 18];
uint64_t wire_answers, wire_errors;
histogram wire_times;

void wires_load(const char *file) {
  FILE *f = fopen(file, "rb");
  if (!f) fail(file);
  int room = 0;
  size_t length;
  message_count = 0;
  while (fscanf(f, "%zu", &length) == 1 && fgetc(f) == '\n') {
    if (message_count == room) messages = realloc(messages, (room = room * 2 + 64) * sizeof *messages);
    message *m = &messages[message_count++];
    m->bytes = malloc(length + 1);
    m->length = length;
    if (fread(m->bytes, 1, length, f) != length) fail("a message is cut");
    m->bytes[length] = 0;
    m->token = memmem(m->bytes, length, TOKEN_BLANK, TOKEN_BYTES);
  }
  fclose(f);
}

void wires_open(const char *address, int count, int answered) {
  for (int i = 0; i < wire_count; i++) { if (all[i].fd >= 0) close(all[i].fd); free(all[i].copy); }
  free(all);
  all = calloc(count, sizeof *all);
  wire_count = count;
  has_answers = answered;
  next_wire = 0;
  for (int i = 0; i < count; i++) {
    all[i].fd = connect_to(address, 0);
    watch(all[i].fd, EPOLLIN, KIND_WIRE, i, 1);
    if (!answered) {  // the NATS protocol
      usleep(20000);
      const char *hello = "CONNECT {\"verbose\":false}\r\n";
      if (send(all[i].fd, hello, strlen(hello), MSG_NOSIGNAL) < 0) fail("CONNECT");
    }
  }
  usleep(50000);
}

int wires_messages(void) { return message_count; }

int wires_idle(void) {
  for (int i = 0; i < wire_count; i++) if (all[i].busy) return 0;
  return 1;
}

static void write_out(wire *w, int index) {
  while (w->rest_bytes > 0) {
    ssize_t sent = send(w->fd, w->rest, w->rest_bytes, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno != EAGAIN) fail("a wire broke");
      watch(w->fd, EPOLLIN | EPOLLOUT, KIND_WIRE, index, 0);
      return;
    }
    w->rest += sent;
    w->rest_bytes -= sent;
  }
}

static void send_on(int index, int64_t number) {
  wire *w = &all[index];
  message *m = &messages[number % message_count];
  w->sent = now_ns();
  if (m->token) {
    char token[64];
    snprintf(token, sizeof token, "BENCH-%06d-%019lld", (int)(number % 1000000), (long long)w->sent);
    memcpy(m->token, token, TOKEN_BYTES);
  }
  while (w->rest_bytes > 0) { write_out(w, index); if (w->rest_bytes > 0) usleep(100); }
  w->rest = m->bytes;
  w->rest_bytes = m->length;
  w->busy = has_answers;
  write_out(w, index);
  if (w->rest_bytes > 0) {  // the message may change before the rest goes out
    w->copy = realloc(w->copy, w->rest_bytes);
    memcpy(w->copy, w->rest, w->rest_bytes);
    w->rest = w->copy;
  }
}

int wires_send(int64_t number) {
  for (int tried = 0; tried < wire_count; tried++) {
    int index = next_wire;
    next_wire = (next_wire + 1) % wire_count;
    if (all[index].busy) continue;
    send_on(index, number);
    return 1;
  }
  return 0;
}

static int64_t closed_number;
void wires_keep_sending(int on) {
  keeps_sending = on;
  if (on) for (int i = 0; i < wire_count; i++) if (!all[i].busy) send_on(i, closed_number++);
}

static void answered(wire *w, int index) {
  int status = atoi(w->head + 9);
  if (status != 200 && status != 204 && status != 304 && status != 202 && status != 201) wire_errors++;
  wire_answers++;
  histogram_add(&wire_times, now_ns() - w->sent);
  w->busy = 0;
  w->head_bytes = 0;
  if (keeps_sending) send_on(index, closed_number++);
}

static size_t body_length(const char *head) {
  const char *at = strcasestr(head, "\r\ncontent-length:");
  return at ? strtoul(at + 17, NULL, 10) : 0;
}

static void take(wire *w, int index, const char *bytes, size_t length) {
  while (length > 0) {
    if (w->body_left > 0) {
      size_t part = length < w->body_left ? length : w->body_left;
      w->body_left -= part;
      bytes += part;
      length -= part;
      if (w->body_left == 0) answered(w, index);
      continue;
    }
    size_t before = w->head_bytes, part = sizeof w->head - 1 - before;
    if (part > length) part = length;
    memcpy(w->head + before, bytes, part);
    w->head[before + part] = 0;
    char *end = strstr(w->head, "\r\n\r\n");
    if (!end) {
      w->head_bytes += part;
      if (w->head_bytes == sizeof w->head - 1) fail("an answer's head is too long");
      return;
    }
    size_t used = end + 4 - w->head - before;
    end[2] = 0;
    w->body_left = body_length(w->head);
    bytes += used;
    length -= used;
    if (w->body_left == 0) answered(w, index);
  }
}

void wire_event(int index, uint32_t events) {
  wire *w = &all[index];
  if (events & EPOLLOUT) {
    watch(w->fd, EPOLLIN, KIND_WIRE, index, 0);
    write_out(w, index);
  }
  if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  ssize_t got = recv(w->fd, buffer, sizeof buffer, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN)) {
    if (w->busy || !has_answers) fail("a server closed its connection");
    close(w->fd);  // idle for too long; it is opened anew before it is used again
    w->fd = -1;
    return;
  }
  if (got < 0) return;
  if (has_answers) take(w, index, buffer, got);
  else if (memmem(buffer, got, "PING", 4)) send(w->fd, "PONG\r\n", 6, MSG_NOSIGNAL);
  else if (memmem(buffer, got, "-ERR", 4)) fail("NATS refused something");
}
