/** Limits of the sound of calls. Source: calls-and-media.md, Legs. */

/** A longer sound packet is dropped. */
export const soundPacketMsMax = 500;
/** Duration of outgoing sound packets. */
export const soundBlockMs = 20;
/** A larger gap, or one backwards, starts a new timeline. */
export const soundJumpMs = 500;
/** Share of a worker's time reserved for one direction of sound until it is measured. */
export const soundShareFirst = 0.01;
/**
 * Share of a worker's time that one direction of sound may use, and burst in milliseconds: many times the cost of a voice on a
 * slow core, including loading an encoder. Beyond it packets are dropped: a leg can send expensive ones.
 */
export const soundShareMax = 0.25;
export const soundBurstMs = 1000;
/** Minimum interval between attempts to reserve a worker for sound. */
export const soundRetryMsMin = 1000;
/** Milliseconds that sound may take of one turn of the main thread's event loop; further packets wait for the next turn. */
export const soundTurnMsMax = 4;
