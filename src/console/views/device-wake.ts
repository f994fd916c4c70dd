/** Wakes a device for an operator and reports the outcome. */
import type { WokenJson } from '../../gateways/admin/wake-route.ts';
import type { WakeupsAnswer } from '../../gateways/admin/wakeup-routes.ts';
import type { Client } from '../client.ts';
import { sentenceOf, type Page } from '../page.ts';
import { formatSpan } from '../text.ts';

const pollEveryMs = 500;
/** Enough polls for the minute within which a wakeup has its outcome. */
const pollsMax = 130;

/** Resolves when the wakeup is sent; the outcome is announced later, if the view is still open. */
export async function wake(
  page: Page,
  deviceId: string,
  customData: string,
  isOpen: () => boolean,
  changed: () => void,
): Promise<string> {
  const { request_id: requestId } = await page.client.change<WokenJson>('/v1/device/wake', {
    device_id: deviceId,
    ...(customData !== '' && { custom_data: customData }),
  });
  void outcomeOf(page.client, deviceId, requestId, isOpen).then(
    (outcome) => {
      if (outcome === null) return;
      page.announce(outcome, 'good');
      changed();
    },
    (error: unknown) => {
      if (isOpen()) page.announce(`Wake ${deviceId}: ${sentenceOf(error)}`, 'bad');
    },
  );
  return `The wakeup was sent to ${deviceId}; waiting for it to come online …`;
}

/** Null: the view was left first. Rejects with an Error whose message is a sentence. */
async function outcomeOf(
  client: Client,
  deviceId: string,
  requestId: string,
  isOpen: () => boolean,
): Promise<string | null> {
  for (let polls = 0; polls < pollsMax; polls++) {
    const { wakeups } = await client.read<WakeupsAnswer>('/v1/wakeups', { request_id: requestId });
    if (!isOpen()) return null;
    const [wakeup] = wakeups;
    if (wakeup !== undefined && wakeup.completed_at !== null && wakeup.woke_after_ms !== null)
      return wakeup.already_online
        ? `${deviceId} was online already.`
        : `${deviceId} woke after ${formatSpan(wakeup.woke_after_ms)}.`;
    if (wakeup !== undefined && /expired|failed/.test(wakeup.status))
      throw new Error(`it did not wake: ${wakeup.status}; see its time line`);
    await new Promise((resolve) => setTimeout(resolve, pollEveryMs));
    if (!isOpen()) return null;
  }
  throw new Error('the outcome is unknown: see its time line');
}
