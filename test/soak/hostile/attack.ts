/** An attack runs until its process ends, and counts the server's reactions. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListenerPorts } from '../../support/server-process.ts';

export interface Tally {
  done: number;
  /** Error of the last failed attempt; empty: none. */
  failure: string;
}

export type Attack = (ports: ListenerPorts, tally: Tally) => void;

/** Pause between two connections of one attacker, because local ports are limited. */
const usualAgainMs = 20;

/** Runs `count` concurrent loops, which continue after a refusal. */
export function repeat(
  tally: Tally,
  count: number,
  run: (index: number) => Promise<unknown>,
  againMs = usualAgainMs,
): void {
  const loop = async (index: number): Promise<never> => {
    for (;;) {
      await run(index).catch((error: unknown) => (tally.failure = String(error)));
      await sleep(againMs);
    }
  };
  for (let index = 0; index < count; index += 1) void loop(index);
}
