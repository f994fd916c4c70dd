/** Limits of what members tell each other. */

/** What is told to everybody and may come late: so many go together, what comes within so long of the last. */
export const noticesGatheredMax = 512;
export const noticesGatheredMs = 100;
/** A process that stopped following the log lets others tell it that the log grew for so long, since it may begin again. */
export const logFollowingLingerMs = 2000;
