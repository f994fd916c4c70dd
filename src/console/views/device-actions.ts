/** Actions on a device: wake, send a message, change, end its sessions, disable, remove. */
import type { DeviceStatus } from '../../gateways/admin/device-routes.ts';
import type { AcknowledgedJson } from '../../gateways/admin/wake-route.ts';
import {
  actionButtons,
  optionalField,
  type Action,
  type Disclosure,
  type Field,
  type Values,
} from '../actions.ts';
import { linkTo, moveTo, type Page } from '../page.ts';
import { formatSpan } from '../text.ts';
import { jsonIn, labelsIn, linesOfLabels, secondsIn, textOfSeconds } from '../values.ts';
import { wake } from './device-wake.ts';

type DeviceEntry = DeviceStatus['device'];

/** Empty for a viewer. `changed`: called after each action; `isOpen`: false after the view was left. */
export function deviceActions(
  page: Page,
  device: DeviceEntry,
  changed: () => void,
  isOpen: () => boolean,
): HTMLElement {
  const { device_id: object, disabled } = device;
  const actions: Action[] = [
    {
      verb: 'Wake',
      object,
      meaning:
        'The server sends the sleeping module a wakeup packet on behalf of the application, with its limits and events.',
      fields: [
        optionalField(
          'custom_data',
          'Custom data',
          '0x and four hexadecimal digits; default: the fixed packet',
        ),
      ],
      run: (values) => wake(page, object, values['custom_data'] ?? '', isOpen, changed),
    },
    {
      verb: 'Send a message',
      object: `to ${object}`,
      meaning:
        'The server sends it to the online device on behalf of the application, and waits 5 s for the acknowledgement.',
      fields: [
        { name: 'name', label: 'Name', hint: 'a-z, 0-9 and _' },
        { name: 'payload', label: 'Payload, a JSON object', kind: 'lines', value: '{}' },
      ],
      run: (values) => sendMessage(page, object, values),
    },
    {
      verb: 'Change',
      object,
      meaning:
        'Backends see the change in the event log. A new secret has to be installed in the device as well.',
      fields: changeFields(device),
      run: (values) => changeDevice(page, device, values),
    },
    {
      verb: 'Kick',
      object,
      meaning: 'Its sessions and connections end now. A working device logs in again on its own.',
      isDanger: true,
      run: () => kicked(page, object),
    },
    {
      verb: disabled ? 'Enable' : 'Disable',
      object,
      meaning: disabled
        ? 'The device may log in again, and does so at its next attempt.'
        : 'Its sessions and calls end now, and it may not log in until it is enabled again. Its backends are notified.',
      isDanger: !disabled,
      run: () => setDisabled(page, object, !disabled),
    },
    {
      verb: 'Remove',
      object,
      meaning: 'Its entry, with its secret and labels, is deleted; its sessions and calls end now.',
      isDanger: true,
      run: async () => {
        await page.client.change('/v1/device/remove', { device_id: object });
        await moveTo(linkTo('devices'));
        return `${object} is removed.`;
      },
    },
  ];
  return actionButtons(page, actions, changed);
}

export function addDevice(page: Page): Action {
  return {
    verb: 'Add a device',
    object: 'to the registry',
    meaning: 'The device may log in with its secret at once.',
    fields: [
      { name: 'device_id', label: 'Id' },
      { name: 'product_id', label: 'Product' },
      optionalField('secret', 'Secret', 'default: generated, and shown once'),
      ...termFields({}, null),
    ],
    run: async ({ device_id: deviceId = '', product_id: productId, secret, labels, expires_at: expires }) => {
      const terms = { labels: labelsIn(labels ?? ''), expires_at: secondsIn(expires ?? '') };
      const made = await page.client.change<DeviceAnswer>('/v1/device/add', {
        device_id: deviceId,
        product_id: productId,
        expires_at: terms.expires_at,
        ...(secret !== '' && { secret }),
      });
      if (Object.keys(terms.labels).length > 0)
        await page.client.change('/v1/device/set', { device_id: deviceId, labels: terms.labels });
      await moveTo(linkTo('device', { id: deviceId }));
      return secret === '' ? disclosed(`${deviceId} is added.`, made) : `${deviceId} is added.`;
    },
  };
}

interface DeviceAnswer {
  readonly device: { readonly secret: string };
}

function disclosed(sentence: string, { device }: DeviceAnswer): Disclosure {
  return { sentence, secrets: [['Secret', device.secret]] };
}

function termFields(labels: DeviceEntry['labels'], expiresAt: number | null): Field[] {
  return [
    {
      ...optionalField('labels', 'Labels', 'key=value, one per line'),
      kind: 'lines',
      value: linesOfLabels(labels),
    },
    {
      ...optionalField('expires_at', 'Expires', 'a date such as 2030-01-31; default: never'),
      value: textOfSeconds(expiresAt),
    },
  ];
}

const keepSecret = 'keep it';

function changeFields({ product_id: value, labels, expires_at: expiresAt }: DeviceEntry): Field[] {
  return [
    { name: 'product_id', label: 'Product', value },
    ...termFields(labels, expiresAt),
    { name: 'secret', label: 'Secret', kind: [keepSecret, 'generate a new one'] },
  ];
}

async function changeDevice(
  { client }: Page,
  { device_id: deviceId, labels: before }: DeviceEntry,
  values: Values,
): Promise<string | Disclosure> {
  const labels = labelsIn(values['labels'] ?? '');
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(labels, key));
  const isFresh = values['secret'] !== keepSecret;
  const changed = await client.change<DeviceAnswer>('/v1/device/set', {
    device_id: deviceId,
    product_id: values['product_id'],
    labels: { ...labels, ...Object.fromEntries(gone.map((key) => [key, null])) },
    expires_at: secondsIn(values['expires_at'] ?? ''),
    ...(isFresh && { secret: true }),
  });
  return isFresh ? disclosed(`${deviceId} is changed.`, changed) : `${deviceId} is changed.`;
}

async function sendMessage({ client }: Page, deviceId: string, values: Values): Promise<string> {
  const { id, took_ms: tookMs } = await client.change<AcknowledgedJson>('/v1/device/message', {
    device_id: deviceId,
    name: values['name'],
    payload: jsonIn(values['payload'] ?? ''),
  });
  return `${deviceId} acknowledged the message ${id} after ${formatSpan(tookMs)}.`;
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
