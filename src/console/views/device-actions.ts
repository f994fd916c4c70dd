/** The changes of a device that an operator is offered: waking it, ending its sessions, forbidding it to log in. */
import type { DeviceStatus } from '../../gateways/admin/device-routes.ts';
import type { WokenJson } from '../../gateways/admin/wake-route.ts';
import type { WakeupsAnswer } from '../../gateways/admin/wakeup-routes.ts';
import { actionButton, type Action } from '../actions.ts';
import type { Page } from '../page.ts';
import { formatSpan } from '../text.ts';

/** None for a viewer. `changed`: called when one is done. */
export function deviceActions(
  page: Page,
  { device_id: deviceId, disabled }: DeviceStatus['device'],
  changed: () => void,
): HTMLElement[] {
  const object = deviceId;
  const done = async (work: Promise<string>): Promise<string> => work.finally(changed);
  const wake: Action = {
    verb: 'Wake',
    object,
    meaning:
      'The server sends the sleeping module its 8 bytes, as for a wakeup of the application, within its limits and with its events.',
    run: () => done(wakeAndWatch(page, deviceId)),
  };
  const kick: Action = {
    verb: 'Kick',
    object,
    meaning: 'Its sessions and their sockets end now. A device that works logs in again by itself.',
    isDanger: true,
    run: () => done(kicked(page, deviceId)),
  };
  const disable: Action = {
    verb: disabled ? 'Enable' : 'Disable',
    object,
    meaning: disabled
      ? 'It may log in again, and does so by itself when it tries the next time.'
      : 'Its sessions and calls end now, and it may not log in until it is enabled again. Its backends are told.',
    isDanger: !disabled,
    run: () => done(setDisabled(page, deviceId, !disabled)),
  };
  return [wake, kick, disable].flatMap((action) => actionButton(page, action) ?? []);
}

async function kicked({ client }: Page, deviceId: string): Promise<string> {
  const { sessions } = await client.change<{ readonly sessions: readonly string[] }>('/v1/device/kick', {
    device_id: deviceId,
  });
  return sessions.length === 0
    ? `${deviceId} had no session.`
    : `${deviceId} was kicked: ${sessions.join(' and ')}.`;
}

async function setDisabled({ client }: Page, deviceId: string, disabled: boolean): Promise<string> {
  await client.change('/v1/device/disable', { device_id: deviceId, disabled });
  return disabled ? `${deviceId} is disabled.` : `${deviceId} is enabled: it may log in.`;
}

const lookEveryMs = 500;
/** A wakeup is settled within a minute. */
const looksMax = 130;

async function wakeAndWatch(page: Page, deviceId: string): Promise<string> {
  const { client } = page;
  const { request_id: requestId } = await client.change<WokenJson>('/v1/device/wake', {
    device_id: deviceId,
  });
  page.say(`${deviceId} was sent the wakeup; waiting for it to come online …`);
  for (let looks = 0; looks < looksMax; looks++) {
    const { wakeups } = await client.read<WakeupsAnswer>('/v1/wakeups', { request_id: requestId });
    const [wakeup] = wakeups;
    if (wakeup !== undefined && wakeup.completed_at !== null && wakeup.woke_after_ms !== null)
      return wakeup.already_online
        ? `${deviceId} was online already.`
        : `${deviceId} woke after ${formatSpan(wakeup.woke_after_ms)}.`;
    if (wakeup !== undefined && /expired|failed/.test(wakeup.status))
      throw new Error(`it did not wake: ${wakeup.status}; its time line tells more`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  throw new Error('whether it woke is not known: look at its time line');
}
