/**
 * Fixed bounds: those of the wire and of memory that no deployment needs to move. What a deployment may
 * move is a setting (server/settings). Each name says what is bounded and in which unit.
 */

/** Source: API doc, Limits. */
export const deviceIdBytesMax = 255;
export const requestIdBytesMax = 128;
/** An application's, product's or bridge's id. */
export const registryIdBytesMax = 255;
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
/** Sockets the sleep port may hold beside its full number of sessions, so that the next logins can be answered. */
export const handshakeSocketsReserved = 256;
/** A module that was told why it is refused has this long to read it and hang up; what it still sends is thrown away up to a bound. */
export const refusalLingerMsMax = 1000;
export const refusalDiscardBytesMax = 64 * 1024;
/** One address may hold this part of the admission queue. */
export const admissionQueueShareMax = 0.5;
/** A PROXY protocol header, its TLVs included. */
export const proxyHeaderBytesMax = 4096;
/** Descriptors kept back from the sleep port: API, ops, store, logs. Source: decisions.md, File descriptors. */
export const descriptorsReserved = 1024;

/** A connectivity query that takes longer is answered 50401. Source: decisions.md, Connectivity. */
export const connectivityQueryMsMax = 2000;

/** How long a wakeup is known by (application, X-Request-ID). Source: decisions.md, Repeats. */
export const wakeupKnownMs = 24 * 3600 * 1000;
/** Wakeups that were not accepted and whose X-Request-ID is remembered for the changed-body check; the oldest is forgotten. */
export const refusedWakeupsKnownMax = 100_000;

/** A request body that is not whole after this is given up with its connection. */
export const bodyReadMsMax = 10_000;

/** Signed requests. The Authorization header, and the access key id in it. */
export const authorizationBytesMax = 4096;
export const accessKeyIdBytesMax = 128;
/** Dates of signed requests kept parsed: those of the whole clock window, both ways. */
export const signingDatesMax = 1024;
/** Derived signing keys kept at once, least recently used out first: one a credential, day and path. */
export const signingKeysMax = 16_384;

/** Signatures on their way through the worker pool: batches there are, and what one of them holds. */
export const hmacBatchesMax = 32;
export const hmacBatchJobsMax = 128;
export const hmacBatchBytesMax = 256 * 1024;
