/** A hidden flag of `serve`: runs the core of a server that has edges. */
export const coreFlag = '--core';
