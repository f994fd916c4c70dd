/*
 * A whole device on POSIX: a module that stays asleep on its TCP connection, and a controller that signs in when it is
 * woken. What the kit leaves to the platform is here: sockets, a clock, random numbers. Plain TCP; see README.md on TLS.
 *
 *   ./device --sleep HOST:PORT --signal HOST:PORT --device ID --secret SECRET [--wake custom|fixed] [--heartbeat 50]
 *            [--reply 0] [--heartbeat-ms N] [--retry-s MIN:MAX] [--awake-s 10]
 *
 * Prints a line for each thing that happens. --heartbeat-ms sends heartbeats faster than was declared, for tests.
 */
#define _POSIX_C_SOURCE 200809L
#include "reveille.h"

#include <errno.h>
#include <inttypes.h>
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

#define NEVER UINT64_MAX
#define CONNECT_TIMEOUT_S 10
#define LOGIN_TIMEOUT_MS 15000
#define SIGNAL_HEARTBEAT_MS 30000

struct options {
  const char *sleep, *signal;
  uint32_t heartbeat_ms, retry_min_s, retry_max_s, awake_s;
};

static struct options options = {NULL, NULL, 0, 2, 300, 10};
static struct rvl_device device = {NULL, NULL, RVL_WAKE_CUSTOM, 50, true};

static uint64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static void random_bytes(uint8_t *bytes, size_t size) {
  FILE *source = fopen("/dev/urandom", "rb");
  if (source == NULL || fread(bytes, 1, size, source) != size) {
    perror("/dev/urandom");
    exit(1);
  }
  fclose(source);
}

static uint32_t random_number(void) {
  uint32_t number;
  random_bytes((uint8_t *)&number, sizeof number);
  return number;
}

/* A connected socket with Nagle off and bounded writes, or -1. `where` is host:port. */
static int connect_to(const char *where) {
  char host[256];
  const char *colon = strrchr(where, ':');
  struct addrinfo *found, hints = {0};
  struct timeval limit = {CONNECT_TIMEOUT_S, 0};
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

static bool send_all(int fd, const void *bytes, size_t size) {
  const char *from = bytes;
  while (size > 0) {
    ssize_t sent = send(fd, from, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    from += sent;
    size -= (size_t)sent;
  }
  return true;
}

/* ---- The controller: one WebSocket while it is awake ---- */

static struct {
  int fd;
  bool upgraded;
  size_t held;
  uint64_t heartbeat_at, over_at;
  uint8_t random[16];
  uint8_t bytes[RVL_MESSAGE_MAX + 4];
} awake = {.fd = -1};

static bool send_frame(enum rvl_opcode opcode, char *payload, size_t size) {
  uint8_t head[RVL_FRAME_HEAD_MAX];
  size_t head_size = rvl_frame_head(head, opcode, (uint8_t *)payload, size, random_number());
  return send_all(awake.fd, head, head_size) && send_all(awake.fd, payload, size);
}

static bool send_text(const char *text) {
  char copy[1024];
  size_t size = strlen(text);
  if (size >= sizeof copy) return false;
  memcpy(copy, text, size);
  return send_frame(RVL_TEXT, copy, size);
}

static void controller_off(const char *why) {
  if (awake.fd < 0) return;
  close(awake.fd);
  awake.fd = -1;
  printf("controller off: %s\n", why);
}

static void controller_on(void) {
  char request[RVL_UPGRADE_MAX];
  size_t size;
  if (awake.fd >= 0 || options.signal == NULL) return;
  random_bytes(awake.random, sizeof awake.random);
  size = rvl_upgrade_request(request, options.signal, awake.random);
  awake.fd = size == 0 ? -1 : connect_to(options.signal);
  awake.upgraded = false;
  awake.held = 0;
  awake.heartbeat_at = NEVER;
  awake.over_at = now_ms() + LOGIN_TIMEOUT_MS;
  if (awake.fd < 0) printf("controller cannot reach %s\n", options.signal);
  else if (!send_all(awake.fd, request, size)) controller_off("write failed");
}

static bool take_message(const char *json, size_t size) {
  char type[16], value[64], login[2048];
  if (!rvl_json_member(json, size, "type", type, sizeof type)) return false;
  if (strcmp(type, "challenge") == 0) {
    size_t login_size;
    if (!rvl_json_member(json, size, "session_key", value, sizeof value)) return false;
    login_size = rvl_signal_login(login, sizeof login, &device, value);
    return login_size > 0 && send_frame(RVL_TEXT, login, login_size);
  }
  if (strcmp(type, "welcome") == 0) {
    if (!rvl_json_member(json, size, "epoch", value, sizeof value)) return false;
    printf("online, epoch %s\n", value);
    awake.heartbeat_at = now_ms() + SIGNAL_HEARTBEAT_MS;
    awake.over_at = now_ms() + options.awake_s * UINT64_C(1000);
    return send_text("{\"type\":\"wake_report\",\"cause\":\"remote\"}");
  }
  if (strcmp(type, "message") == 0) {
    char name[65], ack[128];
    if (!rvl_json_member(json, size, "id", value, sizeof value)) return false;
    if (!rvl_json_member(json, size, "name", name, sizeof name)) return false;
    printf("message %s\n", name);
    snprintf(ack, sizeof ack, "{\"type\":\"ack\",\"id\":\"%s\"}", value);
    return send_text(ack);
  }
  return true;
}

/* Takes what stands whole in the buffer; false when the server broke the protocol or closed. */
static bool take_frames(void) {
  enum rvl_opcode opcode;
  const uint8_t *payload;
  size_t payload_size, used = 0, size;
  while ((size = rvl_frame_read(awake.bytes + used, awake.held - used, &opcode, &payload, &payload_size)) > 0) {
    char pong[125];
    if (size == SIZE_MAX || opcode == RVL_CLOSE) return false;
    if (opcode == RVL_TEXT && !take_message((const char *)payload, payload_size)) return false;
    if (opcode == RVL_PING && payload_size <= sizeof pong) {
      memcpy(pong, payload, payload_size);
      if (!send_frame(RVL_PONG, pong, payload_size)) return false;
    }
    used += size;
  }
  awake.held -= used;
  memmove(awake.bytes, awake.bytes + used, awake.held);
  return awake.held < sizeof awake.bytes;
}

static bool take_upgrade(void) {
  char *text = (char *)awake.bytes, *end;
  if (awake.held == sizeof awake.bytes) return false;
  awake.bytes[awake.held] = '\0';
  end = strstr(text, "\r\n\r\n");
  if (end == NULL) return true;
  *end = '\0';
  if (!rvl_upgrade_accepted(text, awake.random)) return false;
  awake.upgraded = true;
  awake.held -= (size_t)(end + 4 - text);
  memmove(awake.bytes, end + 4, awake.held);
  return true;
}

static void controller_readable(void) {
  ssize_t size = recv(awake.fd, awake.bytes + awake.held, sizeof awake.bytes - awake.held, 0);
  if (size <= 0) {
    controller_off("the server closed");
    return;
  }
  awake.held += (size_t)size;
  if (!awake.upgraded && !take_upgrade()) controller_off("no WebSocket there");
  if (awake.fd >= 0 && awake.upgraded && !take_frames()) controller_off("the server closed");
}

static void controller_on_time(uint64_t now) {
  if (awake.fd >= 0 && now >= awake.over_at) {
    send_text("{\"type\":\"bye\",\"reason\":\"sleep\"}");
    controller_off("back to sleep");
  }
  if (awake.fd >= 0 && now >= awake.heartbeat_at) {
    awake.heartbeat_at = now + SIGNAL_HEARTBEAT_MS;
    if (!send_text("{\"type\":\"heartbeat\"}")) controller_off("write failed");
  }
}

/* ---- The module: one TCP connection for as long as it can ---- */

static struct {
  int fd;
  struct rvl_sleep sleep;
  struct rvl_backoff backoff;
  uint64_t retry_at, heartbeat_at, login_by;
} module = {.fd = -1};

static void module_lost(const char *why) {
  uint32_t wait = rvl_backoff_wait_ms(&module.backoff, random_number());
  if (module.fd >= 0) close(module.fd);
  module.fd = -1;
  module.retry_at = now_ms() + wait;
  printf("%s; next attempt in %" PRIu32 " ms\n", why, wait);
}

static void plan_heartbeat(void) {
  module.heartbeat_at = now_ms() + (options.heartbeat_ms > 0 ? options.heartbeat_ms : rvl_heartbeat_wait_ms(&device, random_number()));
}

static void module_asleep(void) {
  printf("asleep\n");
  module.login_by = NEVER;
  rvl_backoff_reset(&module.backoff, options.retry_min_s, options.retry_max_s);
  plan_heartbeat();
}

static void module_byte(uint8_t byte) {
  switch (rvl_sleep_byte(&module.sleep, byte)) {
  case RVL_NOTHING: break;
  case RVL_SEND_LOGIN:
    if (!send_all(module.fd, module.sleep.line, module.sleep.line_size)) module_lost("write failed");
    else if (!device.reply) module_asleep();
    break;
  case RVL_LOGGED_IN: module_asleep(); break;
  case RVL_REFUSED: {
    char why[64];
    snprintf(why, sizeof why, "refused: %.32s", module.sleep.line);
    module_lost(why);
    break;
  }
  case RVL_WOKEN:
    printf("woken %02x%02x\n", module.sleep.custom[0], module.sleep.custom[1]);
    controller_on();
    break;
  case RVL_BROKEN: module_lost("no sleep server there"); break;
  }
}

static void module_readable(void) {
  uint8_t bytes[256];
  ssize_t size = recv(module.fd, bytes, sizeof bytes, 0);
  if (size <= 0) {
    module_lost("connection lost");
    return;
  }
  for (ssize_t i = 0; i < size && module.fd >= 0; i++) module_byte(bytes[i]);
}

static void module_on_time(uint64_t now) {
  static const uint8_t heartbeat[RVL_HEARTBEAT_BYTES];
  if (module.fd < 0 && now >= module.retry_at) {
    rvl_sleep_start(&module.sleep, &device);
    module.heartbeat_at = NEVER;
    module.login_by = now + LOGIN_TIMEOUT_MS;
    module.fd = connect_to(options.sleep);
    if (module.fd < 0) module_lost("cannot connect");
  }
  if (module.fd >= 0 && now >= module.login_by) module_lost("no answer to the login");
  if (module.fd >= 0 && now >= module.heartbeat_at) {
    plan_heartbeat();
    if (!send_all(module.fd, heartbeat, sizeof heartbeat)) module_lost("write failed");
    else printf("heartbeat\n");
  }
}

/* ---- The loop ---- */

static uint64_t earliest(uint64_t a, uint64_t b) { return a < b ? a : b; }

static int wait_ms(uint64_t now) {
  uint64_t at = module.fd < 0 ? module.retry_at : earliest(module.heartbeat_at, module.login_by);
  if (awake.fd >= 0) at = earliest(at, earliest(awake.heartbeat_at, awake.over_at));
  return at <= now ? 0 : (int)earliest(at - now, 60000);
}

static void turn(void) {
  struct pollfd sockets[2];
  module_on_time(now_ms());
  controller_on_time(now_ms());
  sockets[0] = (struct pollfd){module.fd, POLLIN, 0};
  sockets[1] = (struct pollfd){awake.fd, POLLIN, 0};
  if (poll(sockets, 2, wait_ms(now_ms())) < 0 && errno != EINTR) {
    perror("poll");
    exit(1);
  }
  if (module.fd >= 0 && sockets[0].revents != 0) module_readable();
  if (awake.fd >= 0 && awake.fd == sockets[1].fd && sockets[1].revents != 0) controller_readable();
}

static bool take_option(const char *name, const char *value) {
  if (strcmp(name, "--sleep") == 0) options.sleep = value;
  else if (strcmp(name, "--signal") == 0) options.signal = value;
  else if (strcmp(name, "--device") == 0) device.id = value;
  else if (strcmp(name, "--secret") == 0) device.secret = value;
  else if (strcmp(name, "--heartbeat") == 0) device.heartbeat_s = (uint16_t)atoi(value);
  else if (strcmp(name, "--heartbeat-ms") == 0) options.heartbeat_ms = (uint32_t)atoi(value);
  else if (strcmp(name, "--awake-s") == 0) options.awake_s = (uint32_t)atoi(value);
  else if (strcmp(name, "--reply") == 0) device.reply = strcmp(value, "0") != 0;
  else if (strcmp(name, "--wake") == 0) device.wake = strcmp(value, "fixed") == 0 ? RVL_WAKE_FIXED : RVL_WAKE_CUSTOM;
  else if (strcmp(name, "--retry-s") == 0)
    return sscanf(value, "%" SCNu32 ":%" SCNu32, &options.retry_min_s, &options.retry_max_s) == 2;
  else return false;
  return true;
}

int main(int count, char **words) {
  for (int i = 1; i < count; i += 2)
    if (i + 1 == count || !take_option(words[i], words[i + 1])) {
      fprintf(stderr, "unknown or incomplete option %s: see the head of posix_device.c\n", words[i]);
      return 2;
    }
  if (options.sleep == NULL || device.id == NULL || device.secret == NULL || device.heartbeat_s < 5 ||
      device.heartbeat_s > 3600 || device.id[0] == '\0' || strlen(device.id) > RVL_DEVICE_ID_BYTES_MAX) {
    fprintf(stderr, "--sleep, --device and --secret are needed, a heartbeat of 5 to 3600 s, an id of 1 to 255 bytes\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  rvl_backoff_reset(&module.backoff, options.retry_min_s, options.retry_max_s);
  for (;;) turn();
}
