/**
 * A wait that takes longer hangs: it ends with a message of its own, before the runner ends the test after 300 s (test/run.ts).
 * It is no limit for speed: a loaded machine may need a minute for what takes a moment.
 */
export const hangMsMax = 120_000;
