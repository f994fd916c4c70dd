/** A hidden flag of `serve`: the core of a server that has edges. */
export const coreFlag = '--core';
