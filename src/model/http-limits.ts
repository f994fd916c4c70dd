/** Limits of the API's listener that keep one caller from using it up for the others. */

/** Readers as parts of the API's connections, since each holds one: beside `readersMax`, in all and of one application. */
export const readersShareMax = 0.25;
export const readersPerApplicationShareMax = 0.125;

/** A body up to this is read and verified without being counted. */
export const smallBodyBytesMax = 2 * 1024;
/** Larger bodies without a verdict on their signature; beyond it the oldest of the address with the most is answered 50301. */
export const unprovedBodiesBytesMax = 32 * 1024 * 1024;
/** Bytes of them that are verified at the same time, so that most batches are left to other requests; the others wait. */
export const bodiesVerifyingBytesMax = 2 * 1024 * 1024;

export const frontsMax = 32;
/**
 * Calls of a front that the core has not taken: in all, their bodies, and of one application, which is answered 50301 first. The
 * caller learns to come again a second later.
 */
export const frontCallsMax = 4096;
export const frontCallBytesMax = 16 * 1024 * 1024;
export const frontCallsPerApplicationMax = 1024;
/** Batches of a front that the core has not gone through; rows and bytes of bodies in one. */
export const frontBatchesMax = 2;
export const frontBatchRowsMax = 256;
export const frontBatchBytesMax = 1024 * 1024;
/** Refusals of a front of which the core has no account yet; those beyond are in the metrics, and one of each kind in the log. */
export const frontRefusalsMax = 8192;
/** A front that knows a changed credential says so within it, or is replaced. */
export const frontAskMsMax = 1000;
/** A process that exits waits so long for each front to close its sockets, and then kills itself. */
export const frontExitMsMax = 1000;
/** A front whose loop does not turn for so long is replaced. */
export const frontStuckMsMax = 5000;
export const frontHeartbeatMs = 100;
export const frontLogBounds = { linesMax: 100, charactersMax: 16_384 };
