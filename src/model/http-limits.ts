/** Limits that keep one caller from exhausting the API's listener. */

/**
 * Long-polling readers, as shares of the API's connections (each holds one): of all connections, and of one application.
 * `readersMax` applies as well.
 */
export const readersShareMax = 0.25;
export const readersPerApplicationShareMax = 0.125;

/** A body up to this size is read and verified without being counted. */
export const smallBodyBytesMax = 2 * 1024;
/** Larger bodies that await verification, bytes; beyond it, the oldest of the address with the most is answered 50301. */
export const unprovedBodiesBytesMax = 32 * 1024 * 1024;
/** Bytes of larger bodies verified at the same time, so that most batches stay free for other requests; further bodies wait. */
export const bodiesVerifyingBytesMax = 2 * 1024 * 1024;

export const frontsMax = 32;
/**
 * Calls of a front that wait for the core: in all, bytes of their bodies, and of one application, whose calls are answered 50301
 * first. The answer asks the caller to retry a second later.
 */
export const frontCallsMax = 4096;
export const frontCallBytesMax = 16 * 1024 * 1024;
export const frontCallsPerApplicationMax = 1024;
/** Batches of a front that the core has not processed; calls and bytes of bodies per batch. */
export const frontBatchesMax = 2;
export const frontBatchRowsMax = 256;
export const frontBatchBytesMax = 1024 * 1024;
/** Refusals of a front not yet reported to the core; beyond it they are counted in the metrics, and one of each kind is logged. */
export const frontRefusalsMax = 8192;
/** A front has to confirm a changed credential within this, or is replaced. */
export const frontAskMsMax = 1000;
/** At exit, each front has this long to close its sockets; then the process kills itself. */
export const frontExitMsMax = 1000;
/** A front whose event loop does not turn for this long is replaced. */
export const frontStuckMsMax = 5000;
export const frontHeartbeatMs = 100;
export const frontLogBounds = { linesMax: 100, charactersMax: 16_384 };
