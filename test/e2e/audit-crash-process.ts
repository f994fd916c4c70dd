/** A process to be killed within a change: it reports that the change has begun, and never completes it. */
import { SystemClock } from '../../src/lib/system-clock.ts';
import { AuditLog } from '../../src/storage/audit/audit-log.ts';
import { anIntent } from '../support/audit-scene.ts';

const [, , directory = ''] = process.argv;
const audit = new AuditLog({
  directory,
  clock: new SystemClock(),
  onRecorded: () => undefined,
  onLost: () => undefined,
});
const endless = (): Promise<void> => {
  process.stdout.write('under way\n');
  setInterval(() => undefined, 1000);
  return new Promise(() => undefined);
};
await audit.record(anIntent(), endless, () => ({ result: 'ok' }));
