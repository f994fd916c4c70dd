/* The controller of the test device: one WebSocket while it is awake. */
#include "posix.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEARTBEAT_MS 30000

static struct {
  int fd;
  const struct rvl_device *device;
  uint32_t awake_s;
  uint64_t heartbeat_at, over_at;
  size_t held;
  uint8_t bytes[RVL_MESSAGE_MAX + 4];
} awake;

static bool send_frame(enum rvl_opcode opcode, char *payload, size_t size) {
  uint8_t head[RVL_FRAME_HEAD_MAX];
  size_t head_size = rvl_frame_head(head, opcode, (uint8_t *)payload, size, random_number());
  return send_all(awake.fd, head, head_size) && send_all(awake.fd, payload, size);
}

static bool send_text(const char *text) {
  char copy[128];
  size_t size = strlen(text);
  if (size >= sizeof copy) return false;
  memcpy(copy, text, size);
  return send_frame(RVL_TEXT, copy, size);
}

static void drop_bytes(size_t size) {
  awake.held -= size;
  memmove(awake.bytes, awake.bytes + size, awake.held);
}

static bool take_message(const char *json, size_t size) {
  char type[16], value[65], name[65], answer[2048];
  if (!rvl_json_member(json, size, "type", type, sizeof type)) return false;
  if (strcmp(type, "challenge") == 0) {
    if (!rvl_json_member(json, size, "session_key", value, sizeof value)) return false;
    size_t login_size = rvl_signal_login(answer, sizeof answer, awake.device, value);
    return login_size > 0 && send_frame(RVL_TEXT, answer, login_size);
  }
  if (strcmp(type, "welcome") == 0) {
    if (!rvl_json_member(json, size, "epoch", value, sizeof value)) return false;
    printf("online, epoch %s\n", value);
    awake.heartbeat_at = now_ms() + HEARTBEAT_MS;
    awake.over_at = now_ms() + awake.awake_s * UINT64_C(1000);
    return send_text("{\"type\":\"wake_report\",\"cause\":\"remote\"}");
  }
  if (strcmp(type, "message") == 0) {
    if (!rvl_json_member(json, size, "id", value, sizeof value)) return false;
    if (!rvl_json_member(json, size, "name", name, sizeof name)) return false;
    printf("message %s\n", name);
    snprintf(answer, sizeof answer, "{\"type\":\"ack\",\"id\":\"%s\"}", value);
    return send_text(answer);
  }
  return true;
}

/* Handles all complete frames of the buffer; false when the server violated the protocol or closed. */
static bool take_frames(void) {
  enum rvl_opcode opcode;
  const uint8_t *payload;
  size_t payload_size, size;
  while ((size = rvl_frame_read(awake.bytes, awake.held, &opcode, &payload, &payload_size)) > 0) {
    if (size == SIZE_MAX || opcode == RVL_CLOSE) return false;
    if (opcode == RVL_TEXT && !take_message((const char *)payload, payload_size)) return false;
    if (opcode == RVL_PING && !send_frame(RVL_PONG, (char *)payload, payload_size)) return false;
    drop_bytes(size);
  }
  return awake.held < sizeof awake.bytes;
}

/* Sends the upgrade and reads its response; bytes after the response stay in the buffer. */
static bool upgrade(const char *signal) {
  char request[RVL_UPGRADE_MAX], *end = NULL;
  uint8_t random[16];
  random_bytes(random, sizeof random);
  size_t size = rvl_upgrade_request(request, signal, random);
  if (size == 0 || !send_all(awake.fd, request, size)) return false;
  while (end == NULL) {
    size_t room = sizeof awake.bytes - 1 - awake.held;
    int received = room == 0 ? -1 : receive(awake.fd, awake.bytes + awake.held, room, awake.over_at);
    if (received <= 0) return false;
    awake.held += (size_t)received;
    awake.bytes[awake.held] = '\0';
    end = strstr((char *)awake.bytes, "\r\n\r\n");
  }
  *end = '\0';
  if (!rvl_upgrade_accepted((char *)awake.bytes, random)) return false;
  drop_bytes((size_t)(end + 4 - (char *)awake.bytes));
  return true;
}

static const char *exchange(void) {
  for (;;) {
    if (!take_frames()) return "the server closed";
    uint64_t until = awake.heartbeat_at < awake.over_at ? awake.heartbeat_at : awake.over_at;
    int size = receive(awake.fd, awake.bytes + awake.held, sizeof awake.bytes - awake.held, until);
    if (size < 0) return "the server closed";
    awake.held += (size_t)size;
    if (now_ms() >= awake.over_at) {
      send_text("{\"type\":\"bye\",\"reason\":\"sleep\"}");
      return "back to sleep";
    }
    if (now_ms() >= awake.heartbeat_at) {
      awake.heartbeat_at = now_ms() + HEARTBEAT_MS;
      if (!send_text("{\"type\":\"heartbeat\"}")) return "write failed";
    }
  }
}

const char *controller_session(const struct rvl_device *device, const char *signal, uint32_t awake_s) {
  awake.device = device;
  awake.awake_s = awake_s;
  awake.held = 0;
  awake.heartbeat_at = UINT64_MAX;
  awake.over_at = now_ms() + LOGIN_TIMEOUT_MS;
  awake.fd = connect_to(signal);
  if (awake.fd < 0) return "no signal server there";
  const char *why = upgrade(signal) ? exchange() : "no WebSocket there";
  close(awake.fd);
  return why;
}
