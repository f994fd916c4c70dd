/** A wakeup of one device by an operator, and its outcome. */
import type { WokenJson } from '../../gateways/admin/wake-route.ts';
import type { WakeupsAnswer } from '../../gateways/admin/wakeup-routes.ts';
import type { Client } from '../client.ts';
import { sentenceOf, type Page } from '../page.ts';
import { formatSpan } from '../text.ts';

const lookEveryMs = 500;
/** A wakeup is settled within a minute. */
const looksMax = 130;

/** Resolves when the wakeup is sent; its outcome is said later, without the dialog, and only while the view is open. */
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
      page.say(outcome, 'good');
      changed();
    },
    (error: unknown) => {
      if (isOpen()) page.say(`Wake ${deviceId}: ${sentenceOf(error)}`, 'bad');
    },
  );
  return `${deviceId} was sent the wakeup; waiting for it to come online …`;
}

/** Null: the view was left first. Rejects with an Error whose message is a sentence. */
async function outcomeOf(
  client: Client,
  deviceId: string,
  requestId: string,
  isOpen: () => boolean,
): Promise<string | null> {
  for (let looks = 0; looks < looksMax; looks++) {
    const { wakeups } = await client.read<WakeupsAnswer>('/v1/wakeups', { request_id: requestId });
    if (!isOpen()) return null;
    const [wakeup] = wakeups;
    if (wakeup !== undefined && wakeup.completed_at !== null && wakeup.woke_after_ms !== null)
      return wakeup.already_online
        ? `${deviceId} was online already.`
        : `${deviceId} woke after ${formatSpan(wakeup.woke_after_ms)}.`;
    if (wakeup !== undefined && /expired|failed/.test(wakeup.status))
      throw new Error(`it did not wake: ${wakeup.status}; its time line says more`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    if (!isOpen()) return null;
  }
  throw new Error('its outcome is not known: look at its time line');
}
