/* The parts of the test device: the platform functions (posix.c) and the controller (controller.c). */
#ifndef POSIX_H
#define POSIX_H

#include "reveille.h"

#define LOGIN_TIMEOUT_MS 15000

uint64_t now_ms(void);
void random_bytes(uint8_t *bytes, size_t size);
uint32_t random_number(void);

/* Returns a connected socket with Nagle disabled and bounded writes, or -1. `where` is host:port. */
int connect_to(const char *where);
bool send_all(int fd, const void *bytes, size_t size);
/* Returns the number of bytes received; 0 at `until_ms` without data, -1 when the connection is lost. */
int receive(int fd, void *bytes, size_t size, uint64_t until_ms);

/* Logs in at `signal` (host:port) and receives messages for `awake_s`; returns the reason of the end. */
const char *controller_session(const struct rvl_device *device, const char *signal, uint32_t awake_s);

#endif
