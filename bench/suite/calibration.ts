/** How fast this machine is: a loop of JavaScript and a hash of the platform, and nothing of ours. */
import { createHash } from 'node:crypto';
import type { Bench } from 'tinybench';
import { calibration } from '../support/baseline.ts';

const bytes = Buffer.alloc(4096, 0x2e);
const rounds = 2000;

export function register(bench: Bench): Promise<() => Promise<void>> {
  bench.add(calibration, () => {
    let sum = 0;
    for (let round = 0; round < rounds; round += 1)
      sum = (Math.imul(sum, 31) + (bytes[round & 4095] ?? 0)) | 0;
    return createHash('sha256').update(bytes).update(String(sum)).digest();
  });
  return Promise.resolve(() => Promise.resolve());
}
