/**
 * `reveille wake`: sends a signed wakeup, reports its result and, with `--wait`, its outcome.
 * Source: API doc, Endpoint 2; events.md.
 */
import type { Command } from 'commander';
import type { ApiResult, ReveilleClient, WakeupData } from '../../client/reveille-client.ts';
import type { WakeupCode } from '../../model/codes.ts';
import { addApiOptions, answerResult, withApi, type ApiOptions } from './api-access.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import { optionOfForm, parseRequestIdOption } from '../shell/option-values.ts';
import { awaitOutcome, describeOutcome, describeWakeup } from './wakeup-outcome.ts';
import { showable } from '../../lib/showable-text.ts';

interface WakeOptions extends ApiOptions {
  readonly customData?: string;
  readonly requestId?: string;
  readonly wait?: boolean;
}

export function addWakeCommand(program: Command): void {
  const command = newCommand(
    program,
    'wake',
    'Wake a sleeping device. Exits 1 unless the packet was sent.',
    'DOOR-1 --wait',
    'DOOR-1 --custom-data 0x12ab',
  )
    .argument('<device>', 'device id')
    .option('--custom-data <hex>', 'two bytes for the device, like 0x12ab', parseCustomData)
    .option('--request-id <id>', 'X-Request-ID, the argument of reveille wakeups', parseRequestIdOption)
    .option('--wait', 'wait up to 60 s until the device is online again, else exit 1')
    .action(inContext(wake));
  addApiOptions(command);
}

type Wakeup = ApiResult<WakeupData, WakeupCode>;

async function wake(context: CommandContext, deviceId: string, options: WakeOptions): Promise<void> {
  const { customData, requestId } = options;
  await withApi(context, options, { permissions: ['wakeup:write'], deviceId }, async (api) => {
    const wakeup = await api.wake(deviceId, { customData, requestId });
    const isAwaited = options.wait === true && mayComeOnline(wakeup);
    const text = `${describeWakeup(deviceId, wakeup)}\n  request id ${wakeup.requestId}`;
    answerResult(context, wakeup, text, wakeup.ok || isAwaited);
    if (isAwaited) await notifyOutcome(context, api, wakeup.requestId, deviceId);
  });
}

function mayComeOnline(wakeup: Wakeup): boolean {
  return wakeup.ok || wakeup.code === 50402;
}

async function notifyOutcome(
  context: CommandContext,
  api: ReveilleClient,
  requestId: string,
  deviceId: string,
): Promise<void> {
  const outcome = await awaitOutcome(api, context.clock, requestId, deviceId);
  context.output.answer(outcome, `${showable(outcome.device_id)}: ${describeOutcome(outcome)}`);
  if (outcome.status !== 'completed') process.exitCode = 1;
}

const parseCustomData = optionOfForm(/^0x[0-9a-fA-F]{4}$/, 'Expected 0x and four hexadecimal digits.');
