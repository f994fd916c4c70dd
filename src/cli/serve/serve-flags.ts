/** Hidden flags of `serve`, by which a server starts processes of its own. */

/** One process of `--processes`. */
export const supervisedFlag = '--supervised';
/** The new process of an upgrade. */
export const successorFlag = '--successor';
/** The core of a server that has edges. */
export const coreFlag = '--core';
