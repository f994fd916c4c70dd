/** Limits of the console, and what full means. Source: docs/console.md. */

/** Sessions of the console that one token has begun; with another one the oldest of them ends. */
export const consoleSessionsPerTokenMax = 16;
/** A session of the console ends so long after its login, whatever is done with it. */
export const consoleSessionMsMax = 12 * 60 * 60 * 1000;
/** The figures of the console: how often they are noted, and how many notes are kept, in memory: those of an hour. */
export const figuresEveryMs = 5000;
export const figuresKept = 720;
/** Series among the figures; those beyond it, of more processes than there can be, are left out. About 6 KiB each. */
export const figureSeriesMax = 512;
