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
