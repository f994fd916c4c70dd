/*
 * A test device for POSIX: a module that stays asleep on its TCP connection, and a controller, a process of its own, that logs in
 * when woken.
 *
 *   ./device --sleep HOST:PORT --signal HOST:PORT --device ID --secret SECRET [--wake custom|fixed] [--heartbeat 50]
 *            [--reply 0] [--heartbeat-ms N] [--retry-s MIN:MAX] [--awake-s 10]
 *
 * Prints a line per event. --heartbeat-ms sends heartbeats faster than declared, for tests.
 */
#define _POSIX_C_SOURCE 200809L
#include "posix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
  const char *sleep, *signal;
  uint32_t heartbeat_ms, retry_min_s, retry_max_s, awake_s;
} options = {NULL, NULL, 0, 2, 300, 10};

static struct rvl_device device = {NULL, NULL, RVL_WAKE_CUSTOM, 50, true};
static struct rvl_backoff backoff;
static pid_t controller;

/* Starts the controller unless it is running. */
static void controller_on(int module_fd) {
  if (options.signal == NULL || (controller > 0 && waitpid(controller, NULL, WNOHANG) == 0)) return;
  controller = fork();
  if (controller != 0) return;
  close(module_fd);
  printf("controller off: %s\n", controller_session(&device, options.signal, options.awake_s));
  exit(0);
}

static uint32_t heartbeat_wait_ms(void) {
  return options.heartbeat_ms > 0 ? options.heartbeat_ms : rvl_heartbeat_wait_ms(&device, random_number());
}

/* Runs one connection of the module; returns the reason of its end. */
static const char *sleep_session(int fd) {
  static const uint8_t heartbeat[RVL_HEARTBEAT_BYTES];
  static char refusal[64];
  struct rvl_sleep sleep;
  uint8_t bytes[256];
  bool asleep = false;
  uint64_t due = now_ms() + LOGIN_TIMEOUT_MS;
  rvl_sleep_start(&sleep, &device);
  for (;;) {
    int size = receive(fd, bytes, sizeof bytes, due);
    if (size < 0) return "connection lost";
    for (int i = 0; i < size; i++) {
      enum rvl_sleep_event event = rvl_sleep_byte(&sleep, bytes[i]);
      if (event == RVL_BROKEN) return "no sleep server there";
      if (event == RVL_SEND_LOGIN && !send_all(fd, sleep.line, sleep.line_size)) return "write failed";
      if (event == RVL_REFUSED) {
        snprintf(refusal, sizeof refusal, "refused: %.32s", sleep.line);
        return refusal;
      }
      if (event == RVL_WOKEN) {
        printf("woken %02x%02x\n", sleep.custom[0], sleep.custom[1]);
        controller_on(fd);
      }
      if (event == RVL_LOGGED_IN || (event == RVL_SEND_LOGIN && !device.reply)) {
        printf("asleep\n");
        asleep = true;
        rvl_backoff_reset(&backoff, options.retry_min_s, options.retry_max_s);
        due = now_ms() + heartbeat_wait_ms();
      }
    }
    if (now_ms() < due) continue;
    if (!asleep) return "no answer to the login";
    due = now_ms() + heartbeat_wait_ms();
    if (!send_all(fd, heartbeat, sizeof heartbeat)) return "write failed";
    printf("heartbeat\n");
  }
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
      fprintf(stderr, "unknown or incomplete option %s: see the head of device.c\n", words[i]);
      return 2;
    }
  if (options.sleep == NULL || device.id == NULL || device.secret == NULL || device.heartbeat_s < 5 ||
      device.heartbeat_s > 3600 || device.id[0] == '\0' || strlen(device.id) > RVL_DEVICE_ID_BYTES_MAX) {
    fprintf(stderr, "--sleep, --device and --secret are needed, a heartbeat of 5 to 3600 s, an id of 1 to 255 bytes\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  rvl_backoff_reset(&backoff, options.retry_min_s, options.retry_max_s);
  for (;;) {
    int fd = connect_to(options.sleep);
    const char *why = fd < 0 ? "cannot connect" : sleep_session(fd);
    uint32_t wait = rvl_backoff_wait_ms(&backoff, random_number());
    struct timespec pause = {wait / 1000, wait % 1000 * 1000000L};
    if (fd >= 0) close(fd);
    printf("%s; next attempt in %" PRIu32 " ms\n", why, wait);
    nanosleep(&pause, NULL);
  }
}
