/** `reveille device set`: the terms of a device, one or several at once. */
import type { Command } from 'commander';
import { showable } from '../../lib/showable-text.ts';
import type { JsonObject } from '../../model/json.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { usageError } from '../shell/command-error.ts';
import {
  changedLabels,
  collect,
  disabledOf,
  expiryOf,
  formatMoment,
  parseDeviceIdOption,
  parseExpiry,
  type Expiry,
} from '../shell/option-values.ts';
import { opsClient } from '../admin/running-server.ts';

interface SetOptions {
  readonly product?: string;
  readonly secret?: string | true;
  readonly expiresAt?: Expiry;
  readonly disable?: boolean;
  readonly enable?: boolean;
  readonly label?: readonly string[];
}

export function addSetCommand(device: Command): void {
  const command = device
    .command('set')
    .description('Change a device; what is not named stays.')
    .argument('<id>', 'the device', parseDeviceIdOption)
    .option('--expires-at <moment>', 'Unix seconds, ISO 8601, or never', parseExpiry)
    .option('--disable', 'answer it like one that does not exist, and end its sessions')
    .option('--enable', 'the other way round')
    .option('--secret [secret]', 'a new secret; without a text one is made, and shown')
    .option('--product <id>', 'another product')
    .option('--label <key=value>', 'a label; without a value it goes; may be repeated', collect)
    .action(inContext(setDevice));
  addExamples(
    command,
    ['device set DOOR-1 --expires-at 2027-12-31', 'until a day'],
    ['device set DOOR-1 --secret', 'a new secret: what logs in with the old one is locked out'],
    ['device set DOOR-1 --enable --expires-at never --label site=north', 'several at once'],
  );
}

async function setDevice(context: CommandContext, id: string, options: SetOptions): Promise<void> {
  const { product, secret, expiresAt, disable, enable, label } = options;
  if (disable === true && enable === true) throw usageError('--disable and --enable: only one of them');
  const labels = changedLabels(label);
  const terms = {
    product_id: product,
    secret,
    expires_at: expiryOf(expiresAt),
    disabled: disabledOf(options),
    labels,
  };
  if (Object.values(terms).every((value) => value === undefined))
    throw usageError('nothing to change', 'name what is to change, such as --expires-at never');
  const { device } = await opsClient(context).change<{ device: JsonObject }>('/v1/device/set', {
    device_id: id,
    ...terms,
  });
  context.output.answer({ device }, describe(device, secret === true));
}

function describe(device: JsonObject, isSecretFresh: boolean): string {
  const { device_id: id, product_id: product, expires_at: expiresAt, disabled, secret } = device;
  const state = disabled === true ? 'disabled' : 'enabled';
  const expires = `expires ${formatMoment(expiresAt as number | null, 'never')}`;
  const text = [showable(String(id)), showable(String(product)), state, expires].join('  ');
  return isSecretFresh ? `${text}\nsecret  ${String(secret)}  (shown this once)` : text;
}
