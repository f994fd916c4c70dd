/** A supervisor of two children, one of which never sends hello. It stops in order at the end of its input. */
import { SystemClock } from '../../src/lib/system-clock.ts';
import { ChildLife } from '../../src/server/children/child-life.ts';
import type { ProgramKind } from './supervised-process.ts';
import { forkProgram } from './forked-children.ts';

const clock = new SystemClock();
for (const manner of ['sound', 'stuck'] as const) {
  const options = { clock, name: 'child', startMsMax: 60_000 };
  const life = new ChildLife<ProgramKind>(forkProgram(manner, 'inherit'), options);
  void life.begin({ number: 1 }, () => undefined).then(() => process.stdout.write('{"manner":"up"}\n'));
}
process.stdin.once('end', () => process.exit(0)).resume();
