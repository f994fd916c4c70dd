/** Limits of the ops listener and of the console, and the effect of exceeding them. Source: docs/ops-api.md, docs/console.md. */

/** Lifetime of a console session from its login, regardless of activity. */
export const consoleSessionMsMax = 12 * 60 * 60 * 1000;
/** Sampling interval of the console's figures, and samples kept in memory: one hour. */
export const figuresEveryMs = 5000;
export const figuresKept = 720;
/** Interval of sampling and evaluating the alarms, as usual for Prometheus. */
export const alarmsEveryMs = 15_000;
/** Alarm samples kept in memory: no rule looks back further than an hour. */
export const alarmFiguresKept = 241;
/** Interval of checking the machine, the data directory and files with secrets for alarms, after the check at start. */
export const checksEveryMs = 60 * 60 * 1000;
/** Resolved alarms kept; the oldest is forgotten first. */
export const resolvedAlarmsMax = 50;

/** Memory of the device index: 13 bytes per device, its id twice, product and labels; searches read further devices from the store. */
export const deviceIndexBytesMax = 512 * 1024 * 1024;
/** Pause between two blocks while the index is read without a search waiting. */
export const deviceIndexRestMs = 5;
/**
 * Devices with a session that a search by label or product reads from the store, about 4 µs each; if there are more, it uses the
 * index.
 */
export const heldDevicesReadMax = 20_000;
export const listedDevicesMax = 200;
/** Time that a device search may take of one turn of the event loop. */
export const deviceSearchTurnMs = 2;

/** Method, target and headers of a request to the ops listener, bytes; beyond it 431. */
export const opsHeadBytesMax = 16 * 1024;
/** Deadline of a complete request to the ops listener, uploads excepted; then its connection is closed. */
export const opsRequestMsMax = 10_000;
/** Idle timeout of a connection to the ops listener. */
export const opsIdleMsMax = 12_000;
/** An upload or an answer at the ops listener without progress for this long is aborted with its connection. */
export const opsSilenceMsMax = 30_000;
/** Pipelined requests per ops connection; the last one ends the connection. */
export const opsRequestsWaitingMax = 8;
/** Further requests, which are ignored; one more closes the connection at once. */
export const opsRequestsBeyondMax = 32;
/** JSON body at the ops listener, bytes; beyond it 413. */
export const opsBodyBytesMax = 256 * 1024;
/** Body of an upload, about ten million devices; beyond it 413. */
export const uploadBytesMax = 2 * 1024 * 1024 * 1024;
/** Concurrent uploads; the next is answered 503. */
export const uploadsAtOnceMax = 4;
