/**
 * A longer wait is a hang: it fails with its own message, before the runner ends the test after 300 s (test/run.ts). This is
 * not a limit for speed: a loaded machine may need a minute for what usually takes a moment.
 */
export const hangMsMax = 120_000;
