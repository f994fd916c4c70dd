/** An attack runs until its process ends, and counts each time that the server dealt with it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListenerPorts } from '../../support/server-process.ts';

export interface Tally {
  done: number;
  /** Why the last try failed; empty: none has. */
  failure: string;
}

export type Attack = (ports: ListenerPorts, tally: Tally) => void;

/** Between two connections of one attacker: the ports of this machine are bounded, too. */
const usualAgainMs = 20;

/** `count` loops beside each other. A refusal is what an attacker has to expect: the loop continues. */
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
