/**
 * Fixed bounds: those of the wire and of memory that no deployment needs to move. What a deployment may
 * move is a setting (server/settings). Each name says what is bounded and in which unit.
 */

/** Source: API doc, Limits. */
export const deviceIdBytesMax = 255;
export const requestIdBytesMax = 128;
export const bodyBytesMax = 64 * 1024;

/** Sleep wire. Source: sleep-wire.md, Exchange and Refusals. */
export const loginLineBytesMax = 1024;
export const heartbeatSecondsMin = 5;
export const heartbeatSecondsMax = 3600;
/** A session ends after this many heartbeat intervals of silence. */
export const heartbeatsMissedMax = 3;

/** Messages that wait in one device's mailbox behind the one being handled; beyond it a message is refused. */
export const mailboxMessagesMax = 64;
/** Wakeups that wait on one connection for an earlier packet to leave; beyond it 42901. */
export const wakeupsWaitingMax = 8;
/** Descriptors kept back from the sleep port: API, ops, store, logs. Source: decisions.md, File descriptors. */
export const descriptorsReserved = 1024;
