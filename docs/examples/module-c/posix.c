/* Sockets, a clock and random numbers of POSIX: the file to replace on another platform. Plain TCP; see README.md on TLS. */
#define _POSIX_C_SOURCE 200809L
#include "posix.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WRITE_TIMEOUT_S 10
#define POLL_MS_MAX 60000

uint64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

void random_bytes(uint8_t *bytes, size_t size) {
  FILE *source = fopen("/dev/urandom", "rb");
  if (source == NULL || fread(bytes, 1, size, source) != size) {
    perror("/dev/urandom");
    exit(1);
  }
  fclose(source);
}

uint32_t random_number(void) {
  uint32_t number;
  random_bytes((uint8_t *)&number, sizeof number);
  return number;
}

int connect_to(const char *where) {
  char host[RVL_HOST_MAX + 1];
  const char *colon = strrchr(where, ':');
  struct addrinfo *found, hints = {0};
  struct timeval limit = {WRITE_TIMEOUT_S, 0};
  int one = 1, fd;
  if (colon == NULL || (size_t)(colon - where) >= sizeof host) return -1;
  memcpy(host, where, (size_t)(colon - where));
  host[colon - where] = '\0';
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, colon + 1, &hints, &found) != 0) return -1;
  fd = socket(found->ai_family, SOCK_STREAM, 0);
  if (fd >= 0) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(found);
  return fd;
}

bool send_all(int fd, const void *bytes, size_t size) {
  const char *from = bytes;
  while (size > 0) {
    ssize_t sent = send(fd, from, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    from += sent;
    size -= (size_t)sent;
  }
  return true;
}

int receive(int fd, void *bytes, size_t size, uint64_t until_ms) {
  struct pollfd socket = {fd, POLLIN, 0};
  uint64_t now = now_ms(), wait = until_ms > now ? until_ms - now : 0;
  int ready = poll(&socket, 1, wait > POLL_MS_MAX ? POLL_MS_MAX : (int)wait);
  if (ready == 0 || (ready < 0 && errno == EINTR)) return 0;
  ssize_t received = recv(fd, bytes, size, 0);
  return received > 0 ? (int)received : -1;
}
