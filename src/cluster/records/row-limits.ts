/** Limits of the ownership of devices among nodes, and what full means. Source: cluster.md, Ownership. */

/** Items of the outbox in memory; beyond it they wait in the store. */
export const outboxTakenMax = 4096;
/** Devices whose items are under way at once; the next one waits for its turn. */
export const outboxUnderWayMax = 256;
/** What is done is forgotten so long after, and so much of it at once. */
export const outboxForgetMs = 20;
export const outboxForgetMax = 1024;
/** Between tries of what failed, doubling from the least to the most; all are tried at once when NATS is back. */
export const changeRetryMsMin = 100;
export const changeRetryMsMax = 1000;
/** A row is written so often against others who write it, this far apart at most; beyond it the change has failed. */
export const rowTriesMax = 20;
export const rowJitterMsMax = 40;
/** A leader that has not answered by then may be gone: any server that keeps the stream is asked beside it. */
export const readElsewhereMs = 150;
/** Devices looked at together, when all of a member's are. */
export const lookedAtOnceMax = 256;
/** One value of heartbeats; a part that is larger is cut. */
export const heartbeatPieceBytesMax = 512 * 1024;
export const heartbeatPiecesMax = 1024;
/** Parts of other members' heartbeats that are kept, and for how long: a member that hangs is asked about by many. */
export const heartbeatPartsKeptMax = 256;
export const heartbeatPartKeptMs = 2000;
