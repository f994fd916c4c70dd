/* The parts of the device to try: what the kit leaves to the platform (posix.c), and its controller (controller.c). */
#ifndef POSIX_H
#define POSIX_H

#include "reveille.h"

#define LOGIN_TIMEOUT_MS 15000

uint64_t now_ms(void);
void random_bytes(uint8_t *bytes, size_t size);
uint32_t random_number(void);

/* A connected socket with Nagle off and bounded writes, or -1. `where` is host:port. */
int connect_to(const char *where);
bool send_all(int fd, const void *bytes, size_t size);
/* The number of bytes received; 0 when none came until `until_ms`, -1 when the connection is lost. */
int receive(int fd, void *bytes, size_t size, uint64_t until_ms);

/* Signs in at `signal` (host:port) and takes messages for `awake_s`; returns the reason to switch the controller off. */
const char *controller_session(const struct rvl_device *device, const char *signal, uint32_t awake_s);

#endif
