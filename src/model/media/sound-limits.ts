/** Limits of the sound of calls. Source: calls-and-media.md, Legs. */

/** A longer packet of sound is dropped. */
export const soundPacketMsMax = 500;
/** Sound goes out in packets of so long. */
export const soundBlockMs = 20;
/** A longer gap, or one backwards, begins a new time line. */
export const soundJumpMs = 500;
/** Share of a worker's time that one direction of sound is counted with until it is measured. */
export const soundShareFirst = 0.01;
/**
 * Share of a worker's time that one direction of sound may take, and milliseconds of it at once: many times what a voice
 * costs on a slow core, loading an encoder included. Beyond it packets are dropped: a leg can send some that are dear.
 */
export const soundShareMax = 0.25;
export const soundBurstMs = 1000;
/** Work on sound that no worker had room for is not asked for again sooner. */
export const soundRetryMsMin = 1000;
