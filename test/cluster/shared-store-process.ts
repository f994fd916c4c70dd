/**
 * One of several processes that write a store, to be killed in the middle: devices log in and out here, in turns with
 * the other processes, as fast as it commits. It prints the name of each session once the store has its login, and of
 * each event that it is told. Run with the directory and the process's name; ends when its input ends.
 */
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { SharedMember } from '../support/shared-member.ts';

const [directory = '', name = ''] = process.argv.slice(2);
/** Of all processes, so that they supersede each other; every fifth login is of a device of this one's own. */
const devices = 40;

const deps = new SharedMember(openStore(directory, { lock: 'held' }), name, new SystemClock());
const stopping = new AbortController();
process.stdin.on('end', () => stopping.abort()).resume();

deps.events.follow((events) => {
  process.stdout.write(events.map(({ sequence, id }) => `event ${sequence} ${id}\n`).join(''));
});

for (let number = 0; !stopping.signal.aborted; number++) {
  const isOwn = number % 5 === 0;
  const deviceId = (isOwn ? `own-${name}-${number % 50}` : `device-${number % devices}`) as DeviceId;
  const session = `${name}-${number}`;
  deps.login('sleep', deviceId, session, number * 1000);
  if (number % 3 === 0) deps.end('sleep', deviceId, session, number * 1000);
  // Several in a batch, and batches of every size.
  if (number % 7 !== 0) continue;
  await deps.sleep.committed(deviceId);
  process.stdout.write(`login ${session}\n`);
  deps.events.refresh();
}
await deps.committed();
await deps.store.close();
process.stdout.write('closed\n');
