/** Asks a device's actor which connection a wake packet is to be written to. Source: decisions.md, Wakeup. */
import type { DeviceActor } from '../devices/device-actor.ts';
import type { CustomData } from '../../model/sleep.ts';
import type { SleepConnection } from '../ports/sleep-connection.ts';

/** The connection, or why there is none: an overfull mailbox counts as overload (42901). */
export function wakeableConnection(
  actor: DeviceActor,
  customData: CustomData,
): SleepConnection | 40412 | 40902 | 42901 {
  let answer: SleepConnection | 40412 | 40902 | 42901 = 42901;
  actor.post({
    to: 'wake',
    carriesCustomData: customData !== null,
    reply: (found) => {
      answer = found;
    },
  });
  return answer;
}
