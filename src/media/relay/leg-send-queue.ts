/** The outlet of a leg that takes frames, or of who takes JPEGs alone. */
import type { LegOutput, PictureOutput } from './output.ts';
import { SendQueue, type SendQueueOwner } from './send-queue.ts';

type Settled = SendQueueOwner['settled'];

/** `settled`: as of every outlet. */
export function sendQueueOf(out: LegOutput | PictureOutput, settled: Settled): SendQueue {
  return new SendQueue(
    'sendPicture' in out
      ? { transmit: ({ payload }, sent) => out.sendPicture(payload, sent), settled }
      : { transmit: ({ header, payload }, sent) => out.send(header, payload, sent), settled },
  );
}
