// The load generator: WebSocket clients, requests over plain connections, and the clock over both. Linux, one thread,
// epoll. Loopback only.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Every message carries a token, overwritten in place in the bytes that are sent: its number and when it was sent
// (CLOCK_MONOTONIC, nanoseconds). It has no character that JSON or a URL escapes.
#define TOKEN_BYTES 32
#define TOKEN_BLANK "BENCH-000000-0000000000000000000"

void fail(const char *what);
int64_t now_ns(void);
double cpu_s(int pid);  // CPU seconds of a process so far, all its threads; of this one where pid is 0
long rss_kb(int pid);

// A histogram of nanoseconds, 64 steps for each power of two of microseconds.
typedef struct { uint32_t counts[64 * 32]; uint64_t total; int64_t max; } histogram;
void histogram_add(histogram *h, int64_t ns);
double histogram_ms(const histogram *h, double quantile);

// What an epoll event belongs to.
enum { KIND_INPUT, KIND_SOCKET, KIND_WIRE, KIND_ALARM };
void watch(int fd, uint32_t events, int kind, int index, int is_new);
int connect_to(const char *address, int receive_bytes);  // non-blocking; "host:port"

// ---------------------------------------------------------------- WebSocket clients (clients.c)
typedef struct {
  int wanted, first, outstanding, modulus, slow_every, receive_bytes, snapshot;
  const char *address, *path;
} client_plan;
extern int clients_ready, clients_open, clients_failed, clients_closed;
extern histogram connect_times;
void clients_begin(const client_plan *plan);
void clients_pump(void);  // opens more, up to the plan's
void client_event(int index, uint32_t events);
void clients_close_all(void);
void clients_pause(int paused);
int client_lacking(size_t bytes, int from);  // the first from there on that has fewer bytes waiting; -1: none
int clients_of_channel(int channel, int channels);  // those that read, of one channel

// Called for every token that arrives in a message.
void on_token(int64_t number, int64_t sent_ns);

// ---------------------------------------------------------------- the sending side (wires.c)
// What is sent lies in a file: "<length>\n<bytes>\n" for each message, as it goes over the wire, in turn.
void wires_load(const char *file);
void wires_open(const char *address, int count, int answered);  // `answered`: each message is an HTTP request
int wires_messages(void);
int wires_idle(void);
int wires_send(int64_t number);  // 0: every wire waits for its answer
void wire_event(int index, uint32_t events);
void wires_keep_sending(int on);  // each answer is followed by the next message
extern uint64_t wire_answers, wire_errors;
extern histogram wire_times;
