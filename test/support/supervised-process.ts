/**
 * A child of a supervisor: `sound` serves and obeys orders; `stuck` never sends hello, as if its loader hung. Its first line
 * has its process id.
 */
import { followParent } from '../../src/lib/children/parent-end.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';

export interface ProgramKind {
  readonly task: { readonly number: number };
  readonly ready: { readonly number: number };
  readonly order: string;
  readonly report: 'stopping';
}

const [manner] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify({ manner, pid: process.pid })}\n`);
if (manner === 'stuck') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);

const clock = new SystemClock();
const parent = followParent<ProgramKind>({
  clock,
  release: '1.2.3',
  progress: new LoopProgress(clock),
  ordered: (order) => {
    throw new Error(order);
  },
  stop: () => {
    parent.report('stopping');
    setImmediate(() => setImmediate(() => process.exit(0)));
  },
  orphaned: () => process.exit(0),
});
const { number } = await parent.begun;
if (number < 0) await parent.failed('a number is negative');
else parent.ready({ number });
