/** Limits of what is logged and remembered of refused wakeups, and what full means. Source: docs/operations.md. */

/**
 * Lines about refused wakeups that a process logs in a second: all of them, of one application, and of requests that only claim to
 * be of one. What is beyond is counted, and the count is logged.
 */
export const refusalsLoggedMax = 1000;
export const refusalsLoggedOfApplicationMax = 200;
export const refusalsLoggedUnprovenMax = 50;
/** Refused wakeups that a process remembers for operators: all of them, and of one application; the oldest is forgotten first. */
export const refusalsKeptMax = 10_000;
export const refusalsKeptOfApplicationMax = 1000;
/** Of the reason of a refusal, in the log and in memory. */
export const refusalReasonCharactersMax = 200;
