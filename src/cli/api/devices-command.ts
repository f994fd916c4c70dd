/**
 * `reveille devices list|add|set|remove`: an application's devices in the registry, as its backend sees and changes them over
 * the signed API. Operators of a server have `reveille device`. Source: docs/provisioning.md.
 */
import { Option, type Command } from 'commander';
import type {
  AddedDevicesData,
  ApiResult,
  DeviceChange,
  RegisteredDevice,
} from '../../client/reveille-client.ts';
import type { FailureCode } from '../../model/codes.ts';
import { examples, inContext, type CommandContext } from '../shell/command-context.ts';
import {
  changedLabels,
  collect,
  expiryOf,
  formatMoment,
  parseDeviceIdOption,
  parseExpiry,
  type Expiry,
  parseLabel,
  parseMoment,
} from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { addApiOptions, answerResult, withApi, type ApiOptions } from './api-access.ts';
import type { CredentialNeed } from './credential-source.ts';

interface ListOptions extends ApiOptions {
  readonly product?: string;
  readonly prefix?: string;
  readonly online?: boolean;
  readonly offline?: boolean;
}

interface AddOptions extends ApiOptions {
  readonly product: string;
  readonly secret?: string;
  readonly expires?: number;
  readonly label?: readonly string[];
}

interface SetOptions extends ApiOptions {
  readonly secret?: string | true;
  readonly expires?: Expiry;
  readonly disable?: boolean;
  readonly enable?: boolean;
  readonly label?: readonly string[];
}

export function addDevicesCommand(program: Command): void {
  const devices = program
    .command('devices')
    .description("List, add, change and remove an application's own devices, over the signed API.");
  const list = devices
    .command('list')
    .description('List devices, a line each, without secrets.')
    .option('--product <id>', 'only of this product')
    .option('--prefix <text>', 'only ids that begin with it')
    .option('--online', 'only those online')
    .option('--offline', 'only those not online')
    .addHelpText('after', examples('devices list --product doorbell --online'))
    .action(inContext(listDevices));
  const add = devices
    .command('add')
    .description('Add a device.')
    .argument('<device>', 'device id', parseDeviceIdOption)
    .requiredOption('--product <id>', 'its product')
    .option('--secret <text>', 'its secret (default: one is generated, and shown once)')
    .option('--expires <moment>', 'Unix seconds or ISO 8601 (default: never)', parseMoment)
    .option('--label <key=value>', 'a label; may be repeated', collect)
    .addHelpText('after', examples('devices add DOOR-1 --product doorbell --label site=north'))
    .action(inContext(addDevice));
  const set = devices
    .command('set')
    .description('Change a device; the rest stays.')
    .argument('<device>', 'device id', parseDeviceIdOption)
    .option('--secret [text]', 'a new secret; without a text it is generated, and shown once')
    .option('--expires <moment>', 'Unix seconds, ISO 8601, or never', parseExpiry)
    .option('--disable', 'end its sessions and calls, and answer it like one that does not exist')
    .addOption(new Option('--enable', 'the opposite').conflicts('disable'))
    .option('--label <key=value>', 'a label; an empty value removes it; may be repeated', collect)
    .addHelpText('after', examples('devices set DOOR-1 --expires never --label site='))
    .action(inContext(setDevice));
  const remove = devices
    .command('remove')
    .description('Remove a device: its sessions and calls end.')
    .argument('<device>', 'device id', parseDeviceIdOption)
    .addHelpText('after', examples('devices remove DOOR-1'))
    .action(inContext(removeDevice));
  for (const command of [list, add, set, remove]) addApiOptions(command);
}

async function listDevices(context: CommandContext, options: ListOptions): Promise<void> {
  const { product: productId, prefix, online, offline } = options;
  const isOnline = online === true ? true : offline === true ? false : undefined;
  await withApi(context, options, { permissions: ['device:read'], deviceId: null }, async (api) => {
    for await (const device of api.devices({ productId, prefix, online: isOnline, limit: 500 }))
      context.output.answer(device, describeDevice(device));
  });
}

async function addDevice(context: CommandContext, deviceId: string, options: AddOptions): Promise<void> {
  const { product: product_id, secret, expires: expires_at, label } = options;
  const entry = {
    device_id: deviceId,
    product_id,
    secret,
    expires_at,
    labels: label && Object.fromEntries(label.map(parseLabel)),
  };
  await withApi(context, options, needToWrite(null), async (api) => {
    const result = await api.addDevices([entry]);
    const isAdded = result.ok && result.data.devices.every(({ code }) => code === 0);
    answerResult(context, result, describeAdded(deviceId, result), isAdded);
  });
}

async function setDevice(context: CommandContext, deviceId: string, options: SetOptions): Promise<void> {
  const { secret, expires, label, disable, enable } = options;
  const change: DeviceChange = {
    device_id: deviceId,
    secret,
    expires_at: expiryOf(expires),
    disabled: disable === true ? true : enable === true ? false : undefined,
    labels: changedLabels(label),
  };
  await withApi(context, options, needToWrite(deviceId), async (api) => {
    const result = await api.changeDevice(change);
    const text = result.ok
      ? `${describeDevice(result.data)}${secretText(result.data.secret)}`
      : describeRefusal(deviceId, result);
    answerResult(context, result, text);
  });
}

async function removeDevice(context: CommandContext, deviceId: string, options: ApiOptions): Promise<void> {
  await withApi(context, options, needToWrite(deviceId), async (api) => {
    const result = await api.removeDevice(deviceId);
    const text = result.ok ? `${showable(deviceId)} is removed` : describeRefusal(deviceId, result);
    answerResult(context, result, text);
  });
}

function needToWrite(deviceId: string | null): CredentialNeed {
  return { permissions: ['device:write'], deviceId };
}

function describeDevice({ device_id, product_id, expires_at, disabled, labels }: RegisteredDevice): string {
  const tags = Object.entries(labels).map(([key, value]) => `${key}=${showable(value)}`);
  const state = disabled ? 'disabled' : `expires ${formatMoment(expires_at, 'never')}`;
  return [showable(device_id), showable(product_id), state, ...tags].join('  ');
}

function describeAdded(deviceId: string, result: ApiResult<AddedDevicesData, FailureCode>): string {
  if (!result.ok) return describeRefusal(deviceId, result);
  const [entry] = result.data.devices;
  if (entry === undefined || entry.code !== 0)
    return `${showable(deviceId)} is not added: ${entry?.message} (${entry?.code})`;
  if (entry.created !== true) return `${showable(deviceId)} is there already, as you say`;
  return `${showable(deviceId)} is added${secretText(entry.secret)}`;
}

function describeRefusal(deviceId: string, { message, code }: { message: string; code: number }): string {
  return `${showable(deviceId)}: ${message} (${code})`;
}

function secretText(secret: string | undefined): string {
  return secret === undefined ? '' : `\n  secret  ${secret}   (shown once)`;
}
